package observation

import (
	"fmt"
	"io"
	"os"
	runtimedebug "runtime/debug"
	"syscall"
)

// view lends do n bytes of a file, from offset on, as they lie in the page cache:
// searching them takes no longer than copying them would. They are gone when do
// has ended. A file that is shorter, or a disk that fails under it, is an error.
func view(f *os.File, offset int64, n int, do func(b []byte)) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < offset+int64(n) { // behind its end a page reads as zeros
		return fmt.Errorf("the file was cut: %w", io.ErrUnexpectedEOF)
	}
	before := int(offset % int64(os.Getpagesize()))
	b, err := syscall.Mmap(int(f.Fd()), offset-int64(before), before+n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return viewCopy(f, offset, n, do)
	}
	err = catchFault(func() { do(b[before:]) })
	if e := syscall.Munmap(b); err == nil {
		err = e
	}
	return err
}

// viewCopy is for file systems that map no files.
func viewCopy(f *os.File, offset int64, n int, do func(b []byte)) error {
	b := make([]byte, n)
	if _, err := f.ReadAt(b, offset); err != nil {
		return err
	}
	do(b)
	return nil
}

// catchFault makes an error of reading mapped memory that has no file behind it
// any more.
func catchFault(do func()) (err error) {
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fmt.Errorf("the file was cut, or its disk fails: %v", r)
		default:
			panic(r)
		}
	}()
	do()
	return nil
}
