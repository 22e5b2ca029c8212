// Package pictures draws the contents of a terminal as SVG for the README. 'make pictures' runs
// tests that make the pictures in this directory with the programs' own renderers. The same tests
// fail if a picture no longer shows what its program prints:
//
//	list.svg  TestPicture of cmd/gpusched/client
//	top.svg   TestPicture of cmd/gpusched-top/screen
//	page.png  TestPicture of cmd/gpusched-web, by a browser; page.txt has the words that it shows
package pictures
