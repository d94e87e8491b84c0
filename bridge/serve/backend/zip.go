package backend

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// smallestZipped is the size in bytes below which compression gains nothing.
const smallestZipped = 256

// Zip compresses the answers of a handler for browsers that take gzip: a page has an eighth of its bytes then. Nothing
// in a page is a secret that the length of an answer could tell, so no padding hides the length.
func Zip(handler http.HandlerFunc) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(smallestZipped),
		gzhttp.CompressionLevel(gzip.BestCompression),        // the default makes 5 % more than compress/gzip does
		gzhttp.EnableZstd(false),                             // by default it is preferred, and makes a tenth more than gzip
		gzhttp.ExceptContentTypes([]string{rangesOfOneFile}), // by default they are compressed as one text
	)
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap(handler)
}

// rangesOfOneFile is the type of an answer to a request for several ranges. Its ranges count the bytes of the file, and
// a Content-Encoding would say that they count the bytes of the compressed file.
const rangesOfOneFile = "multipart/byteranges"
