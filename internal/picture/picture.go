// Package picture reads pictures that somebody sent, makes them fit for models, and tells the media type of any file.
// What it returns for a picture depends on its bytes alone.
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

// What models take: larger pictures are scaled down by their providers anyway, or refused.
const (
	maxEdge  = 1568    // pixels of the longer side
	maxBytes = 3 << 20 // of the file
	minEdge  = 32      // of either side: of smaller ones some providers refuse the whole request
)

// maxPixels bounds a picture that is decoded, which takes up to 25 bytes a pixel; a scan of a JPEG takes some 60 ms.
const maxPixels, maxScans = 32 << 20, 256

// Size is how many pixels a picture has: a png, jpeg, gif or webp of up to 32 megapixels.
func Size(data []byte) (size image.Point, err error) {
	c, kind, err := image.DecodeConfig(bytes.NewReader(data))
	n := c.Width * c.Height
	if n <= 0 || n > maxPixels || kind == "jpeg" && bytes.Count(data, []byte("\xff\xda")) > maxScans {
		err = errors.New("no picture, or too large")
	}
	return image.Pt(c.Width, c.Height), err
}

// Named names the picture in a blob for an event, with its size; it returns nothing where there is none.
func Named(address string, blob []byte) []string {
	size, err := Size(blob)
	if err != nil {
		return nil
	}
	return []string{fmt.Sprintf("%s:%dx%d", address, size.X, size.Y)}
}

// Fit returns a picture as providers take it, scaled where it is too large or small, and its media type. A picture that
// they might refuse is an error: it is decoded as a whole.
func Fit(data []byte) (kind string, fit []byte, err error) {
	defer func() { // decoders have seen much, and not all
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
	if long == maxEdge && min(size.X, size.Y) >= minEdge && len(data) <= maxBytes && (format == "jpeg" || format == "png") {
		return "image/" + format, data, nil
	}
	size.X, size.Y = max(minEdge, size.X*maxEdge/long), max(minEdge, size.Y*maxEdge/long)
	to := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(to, to.Bounds(), image.White, image.Point{}, draw.Src)
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Over, nil)
	var out bytes.Buffer
	err = jpeg.Encode(&out, to, &jpeg.Options{Quality: 85})
	return "image/jpeg", out.Bytes(), err
}
