// Package chart draws figures as SVG, for the pages of 'gpusched report --html', of gpusched-web and
// of the simulator. Colours and letters are the page's: a drawing has the classes of its series, axis for
// lines, and text. Whatever is written in it is escaped.
package chart
