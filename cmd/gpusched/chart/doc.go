// Package chart draws figures as SVG, for the page of 'gpusched report --html' and for that of
// gpusched-web. Colours and letters are the page's: a drawing has the classes of its series, axis for
// lines, and text. Whatever is written in it is escaped.
package chart
