// Package chart draws figures as SVG for the pages of 'gpusched report --html', gpusched-web and
// the simulator. The page sets colours and fonts. A drawing consists of shapes with the classes of
// its series, lines of class axis, and text. All text is escaped.
package chart
