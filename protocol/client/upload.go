package client

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"sync"

	"github.com/posttrainarena/arena/protocol/api"
)

// upload is one sending of a bundle: the multipart body, written by a goroutine
// that ends when the reader is closed, as every transport does.
type upload struct {
	*io.PipeReader
	contentType string

	mu  sync.Mutex
	err error // why the directory could not be read
}

// upload makes the body of a request: the JSON in the part request, the tar
// stream in the part bundle. It is the same bytes every time.
func (b *Bundle) upload(request []byte) *upload {
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	// A git tree id is a valid boundary, and no content can hold its own.
	_ = form.SetBoundary("arena-" + b.treeID)
	u := &upload{PipeReader: r, contentType: form.FormDataContentType()}
	go func() {
		err := b.writeForm(form, request)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			u.mu.Lock()
			u.err = err
			u.mu.Unlock()
		}
		_ = w.CloseWithError(err)
	}()
	return u
}

// failure is why the directory could not be read, nil when it could or when
// there is no upload.
func (u *upload) failure() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

func (b *Bundle) writeForm(form *multipart.Writer, request []byte) error {
	part, err := form.CreatePart(partHeader(`name="request"`, api.ContentJSON))
	if err != nil {
		return err
	}
	if _, err := part.Write(request); err != nil {
		return err
	}
	if part, err = form.CreatePart(partHeader(`name="bundle"; filename="bundle.tar"`, "application/x-tar")); err != nil {
		return err
	}
	if err := b.WriteTar(part); err != nil {
		return err
	}
	return form.Close()
}

func partHeader(disposition, contentType string) textproto.MIMEHeader {
	return textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf("form-data; %s", disposition)},
		"Content-Type":        {contentType},
	}
}
