# bash completion of gpusched. The candidates come from the program itself;
# where it has none, names of files are offered.

# Joins what readline cut at = and : into the words that were typed.
__gpusched_words() {
	local i word
	typed=()
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((${#typed[@]} > 0)) && [[ $word == [=:]* || ${typed[-1]} == *[=:] ]]; then
			typed[-1]+=$word
		else
			typed+=("$word")
		fi
	done
}

_gpusched() {
	local typed cur cut line
	__gpusched_words
	cur=${typed[-1]-}
	# Readline replaces only what follows the last = or :.
	cut=${cur%"${cur##*[=:]}"}
	COMPREPLY=()
	while IFS=$'\t' read -r line _; do
		[[ $line == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "${line#"$cut"}")")
	done < <("${COMP_WORDS[0]}" __complete "${typed[@]}" 2>/dev/null)
	if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}

complete -o default -F _gpusched gpusched
