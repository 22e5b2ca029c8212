// Package pictures draws what a terminal shows as SVG, for the README. The pictures in
// this directory are made by tests, of the programs' own renderers ('make pictures'), and
// the same tests fail where a program prints something else by now:
//
//	list.svg  TestPicture of cmd/gpusched/client
//	top.svg   TestPicture of cmd/gpusched-top/screen
//	page.png  TestPicture of cmd/gpusched-web, by a browser; the words that it shows are in page.txt
package pictures
