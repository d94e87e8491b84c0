// Package picture reads pictures that somebody sent, makes them fit for models, and tells the media type of any file.
// Its results for a picture depend only on the picture's bytes.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // kinds that are read
	"image/jpeg"
	_ "image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// The pictures that models take. Providers scale larger ones down, or refuse them.
const (
	maxEdge  = 1568    // the longer side, in pixels
	maxBytes = 3 << 20 // the file
	minEdge  = 32      // either side, in pixels: for a smaller one some providers refuse the whole request
)

// maxPixels and maxScans bound the cost of decoding: up to 25 bytes of memory a pixel, and some 60 ms a scan of a JPEG.
const maxPixels, maxScans = 32 << 20, 256

// Size returns the width and height of a png, jpeg, gif or webp in pixels. It returns an error for other data and for
// pictures of more than 32 megapixels.
func Size(data []byte) (size image.Point, err error) {
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	size = image.Pt(config.Width, config.Height)
	pixels := size.X * size.Y
	fits := 0 < pixels && pixels <= maxPixels
	slow := kind == "jpeg" && bytes.Count(data, []byte("\xff\xda")) > maxScans
	if !fits || slow {
		err = errors.New("no picture, or too large")
	}
	return size, err
}

// Named returns the name of the picture in a blob for an event, "ADDRESS:WIDTHxHEIGHT", as a list of one; it returns
// nil if the blob holds no picture that Size takes.
func Named(address string, blob []byte) []string {
	size, err := Size(blob)
	if err != nil {
		return nil
	}
	return []string{fmt.Sprintf("%s:%dx%d", address, size.X, size.Y)}
}

// Fit returns a picture in a form and size that providers take, and its media type: data itself where they take it,
// else a JPEG, scaled up or down. It decodes the whole picture, and returns an error if that fails.
func Fit(data []byte) (kind string, fit []byte, err error) {
	defer func() { // a decoder may panic at data that it has not seen before
		if recover() != nil {
			err = errors.New("a decoder has failed")
		}
	}()
	size, err := Size(data)
	if err != nil {
		return
	}
	from, format, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return
	}
	long := max(size.X, size.Y, maxEdge)
	fits := long == maxEdge && min(size.X, size.Y) >= minEdge
	providersTake := format == "jpeg" || format == "png"
	if fits && providersTake {
		if len(data) <= maxBytes {
			return "image/" + format, data, nil
		}
	}
	size.X, size.Y = max(minEdge, size.X*maxEdge/long), max(minEdge, size.Y*maxEdge/long)
	to := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(to, to.Bounds(), image.White, image.Point{}, draw.Src)
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Over, nil)
	var out bytes.Buffer
	err = jpeg.Encode(&out, to, &jpeg.Options{Quality: 85})
	return "image/jpeg", out.Bytes(), err
}
