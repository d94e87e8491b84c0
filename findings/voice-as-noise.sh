#!/usr/bin/env bash
# go-audio/wav 1.1.0: a telephone's WAV file of silence is read as noise at full height, as a valid file.
#
# Guess:    IsValidFile and FullPCMBuffer, which gives samples of PCM, refuse a format that they do not decode; 8 bits of silence
#           are zeros in the buffer.
# Behaviour: the format of the head (7, µ-law, as voicemail and telephone services record) is not looked at: its bytes are taken
#           for samples as they are. Silence, which has the codes 255 and 127, swings by 128. PCM of 8 bits comes with its middle
#           at 128 and not at 0. A recogniser gets noise, and says that it heard nothing, or something else.
# Remedy:   look at WavAudioFormat (1 is PCM) before the samples; decode 6 and 7 by their tables; take 128 off where BitDepth is 8.
#
# Needs Go. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
unset GOFLAGS
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/go-audio/wav"
)

// file makes a WAV file of one channel with 8 bits a sample.
func file(format uint16, samples []byte) *bytes.Reader {
	var out bytes.Buffer
	for _, part := range []any{
		[]byte("RIFF"), uint32(4 + 26 + 12 + 8 + len(samples)), []byte("WAVEfmt "), uint32(18), format, uint16(1), uint32(8000),
		uint32(8000), uint16(1), uint16(8), uint16(0), []byte("fact"), uint32(4), uint32(len(samples)), []byte("data"),
		uint32(len(samples)), samples,
	} {
		binary.Write(&out, binary.LittleEndian, part)
	}
	return bytes.NewReader(out.Bytes())
}

func main() {
	seen := ""
	for _, silence := range []struct {
		name   string
		format uint16
		bytes  []byte
	}{{"PCM", 1, []byte{128, 128}}, {"µ-law", 7, []byte{255, 127}}} {
		decoder := wav.NewDecoder(file(silence.format, bytes.Repeat(silence.bytes, 400)))
		valid := decoder.IsValidFile()
		buffer, err := decoder.FullPCMBuffer()
		if err != nil {
			panic(err)
		}
		seen += fmt.Sprintln(silence.name, "silence: valid", valid, "samples", buffer.Data[:4])
	}
	fmt.Print(seen)
	if seen != "PCM silence: valid true samples [128 128 128 128]\nµ-law silence: valid true samples [255 127 255 127]\n" {
		os.Exit(1)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/go-audio/wav@v1.1.0 >/dev/null 2>&1
echo "go-audio/wav v1.1.0, $(go version)"
go run .
