package redact

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// logText is what a build or a server prints.
func logText(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "2026-03-%02dT%02d:%02d:07.%06dZ INFO  worker-%d: GET /api/v1/items/%d?page=%d 200 in %d.%02d ms, %d bytes to 10.0.%d.%d\n",
			i%28+1, i%24, i%60, i*7919%1000000, i%16, i*31337%99991, i%40, i%900, i%100, i*104729%1000000, i%256, i*7%256)
		if i%5 == 0 {
			fmt.Fprintf(&b, "ok  \tgithub.com/example/project/internal/package%d\t0.%03ds\tcoverage: %d.%d%% of statements\n", i%50, i%1000, i%100, i%10)
		}
	}
	return b.Bytes()[:size]
}

// manySecrets makes n random values of 16 to 40 letters and digits.
func manySecrets(n int) map[string]string {
	rnd := rand.New(rand.NewPCG(1, 2))
	m := make(map[string]string)
	for i := range n {
		m[fmt.Sprintf("KEY%d_TOKEN", i)] = randomText(rnd, words, 16+i%5*6)
	}
	return m
}

func BenchmarkCopy(b *testing.B) {
	text := logText(1 << 20)
	dst := make([]byte, len(text))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		copy(dst, text)
	}
}

func BenchmarkString(b *testing.B) {
	text := string(logText(1 << 20))
	for _, n := range []int{1, 5, 20, 100} {
		r := New(manySecrets(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.String(text)
			}
		})
	}
}

func BenchmarkShortest(b *testing.B) {
	text := string(logText(1 << 20))
	secrets := manySecrets(5)
	secrets["SHORT_TOKEN"] = "Xq7vT2mK"
	r := New(secrets)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.String(text)
	}
}

func BenchmarkWriter(b *testing.B) {
	text := logText(1 << 20)
	for _, n := range []int{1, 5, 20} {
		for _, chunk := range []int{512, 4 << 10, 32 << 10} {
			r := New(manySecrets(n))
			b.Run(fmt.Sprintf("secrets=%d/chunk=%d", n, chunk), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				w := r.Writer(io.Discard)
				for b.Loop() {
					for t := text; len(t) > 0; t = t[min(chunk, len(t)):] {
						w.Write(t[:min(chunk, len(t))])
					}
				}
			})
		}
	}
}

// BenchmarkMake is what a program pays before its first text.
func BenchmarkMake(b *testing.B) {
	secrets := manySecrets(5)
	environ := make([]string, 0, 60)
	for name, value := range secrets {
		environ = append(environ, name+"="+value)
	}
	for i := range 50 {
		environ = append(environ, fmt.Sprintf("VARIABLE_%d=some value", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		FromEnv(environ, nil).String("a first text")
	}
}

func BenchmarkMakePunctuated(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(map[string]string{
			"A_PASSWORD": `p@ss/w+rd "quoted" <é>`, "B_PASSWORD": `another\one&only=1`, "C_TOKEN": "plain-token-value",
			"D_SECRET": "x#y?z%w!q(1)", "E_API_KEY": "0123456789abcdef/0123456789abcdef+",
		}).String("a first text")
	}
}
