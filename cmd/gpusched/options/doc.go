// Package options holds what help, the manual and agents say about each option of the command line. The texts are not
// in the tags of the options, since the parser reads all tags for each command line, and nearly none needs the texts.
package options
