//go:build !linux

package main

func weakFileSystem(string) string { return "" }
