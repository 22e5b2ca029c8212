// Package pictures draws a terminal's contents as SVG, for the README. Tests make the pictures in
// this directory with the programs' own renderers ('make pictures'), and fail when a program prints
// something else:
//
//	list.svg  TestPicture of cmd/gpusched/client
//	top.svg   TestPicture of cmd/gpusched-top/screen
//	page.png  TestPicture of cmd/gpusched-web, by a browser; the words that it shows are in page.txt
package pictures
