//go:build !linux

package inside
