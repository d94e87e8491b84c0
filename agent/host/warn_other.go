//go:build !linux

package host

func weakFileSystem(string) string { return "" }
