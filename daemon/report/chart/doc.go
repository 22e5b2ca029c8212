// Package chart draws figures as SVG for the pages of 'gpusched report --html', gpusched-web and
// the simulator. The page sets colours and fonts: a drawing has the classes of its series, the
// class axis for lines, and text. All text is escaped.
package chart
