package budget

import "strings"

// bucketPut is what a thousand writes to a bucket cost, in dollars.
const bucketPut = 0.005

// Writes returns what n writes cost to the store of hosts at a URL, at a price in dollars for a thousand; nil for the
// usual one.
func Writes(url string, thousand *float64, n int64) USD {
	dollars := 0.0
	if strings.HasPrefix(url, "s3") {
		dollars = bucketPut
	}
	if thousand != nil {
		dollars = *thousand
	}
	return Ceil(dollars * float64(n) / 1000)
}
