package picture_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"lethe/internal/picture"
	"lethe/internal/test/lethetest"
)

// drawn is a picture with a red half on the left and a transparent one on the right.
func drawn(width, height int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width / 2 {
		for y := range height {
			m.Set(x, y, color.NRGBA{R: 255, A: 255})
		}
	}
	return m
}

func file(t *testing.T, format string, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	}
	lethetest.Must(t, err)
	return b.Bytes()
}

// webp is one of 16 pixels by 16.
const webp = "UklGRkAAAABXRUJQVlA4IDQAAADwAQCdASoQABAAAQAcJaACdLoB+AAETAAA/vW4f/6aR40jxpHxcP/ugT90CfugT/3NoAAA"

func TestPicturesAreMadeFit(t *testing.T) {
	web, err := base64.StdEncoding.DecodeString(webp)
	lethetest.Must(t, err)
	for name, test := range map[string]struct {
		data          []byte
		same          bool
		width, height int
	}{
		"small png":  {file(t, "png", drawn(64, 48)), true, 64, 48},
		"small jpeg": {file(t, "jpeg", drawn(64, 48)), true, 64, 48},
		"gif":        {file(t, "gif", drawn(64, 48)), false, 64, 48},
		"webp":       {web, false, 32, 32},
		"wide png":   {file(t, "png", drawn(3136, 10)), false, 1568, 32},
		"tall jpeg":  {file(t, "jpeg", drawn(1, 4000)), false, 32, 1568},
		"tiny png":   {file(t, "png", drawn(1, 1)), false, 32, 32},
	} {
		kind, fit, err := picture.Fit(test.data)
		again, format, derr := image.Decode(bytes.NewReader(fit))
		if err != nil || derr != nil || kind != "image/"+format || again.Bounds().Size() != image.Pt(test.width, test.height) ||
			bytes.Equal(fit, test.data) != test.same {
			t.Errorf("%s became %s of %d bytes (%v, %v)", name, kind, len(fit), err, derr)
		}
		_, same, _ := picture.Fit(test.data)
		if !bytes.Equal(fit, same) {
			t.Errorf("%s becomes different bytes each time", name)
		}
	}
	_, fit, err := picture.Fit(file(t, "png", drawn(3136, 1568)))
	lethetest.Must(t, err)
	m, err := jpeg.Decode(bytes.NewReader(fit))
	lethetest.Must(t, err)
	if r, g, _, _ := m.At(10, 10).RGBA(); r>>8 < 240 || g>>8 > 20 {
		t.Errorf("red became %d, %d", r>>8, g>>8)
	}
	if r, g, b, _ := m.At(1500, 10).RGBA(); min(r, g, b)>>8 < 250 {
		t.Errorf("what was transparent became %d, %d, %d, not white", r>>8, g>>8, b>>8)
	}
}

func TestHostilePicturesAreRefused(t *testing.T) {
	whole := file(t, "png", drawn(64, 48))
	vast := bytes.Clone(whole) // says that it is a million pixels wide and high
	binary.BigEndian.PutUint32(vast[16:], 1e6)
	binary.BigEndian.PutUint32(vast[20:], 1e6)
	binary.BigEndian.PutUint32(vast[29:], crc32.ChecksumIEEE(vast[12:29]))
	small := file(t, "jpeg", drawn(64, 48))
	slow := append(small[:len(small)-2:len(small)-2], bytes.Repeat(small[bytes.Index(small, []byte("\xff\xda")):len(small)-2], 256)...)
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "svg": []byte("<svg width='1' height='1'/>"), "vast": vast, "slow": append(slow, 0xff, 0xd9),
		"cut off": whole[:len(whole)-30], "cut off jpeg": small[:500],
	} {
		if kind, _, err := picture.Fit(data); err == nil {
			t.Errorf("%s became %s", name, kind)
		}
	}
	if _, err := picture.Size(vast); err == nil {
		t.Error("a vast picture has a size")
	}
}

// No bytes make a decoder panic, nor take more memory than a picture may.
func FuzzFit(f *testing.F) {
	f.Add([]byte(webp))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _, _ = picture.Fit(data) })
}
