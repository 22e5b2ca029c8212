# bash completion of gpusched. The program itself provides the candidates; if it
# has none, file names are offered.

# Rejoins in typed the words that readline split at = and :, and stores in at
# the index of each in COMP_WORDS.
__gpusched_words() {
	local i word
	typed=() at=()
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((${#typed[@]} > 0)) && [[ $word == [=:]* || ${typed[-1]} == *[=:] ]]; then
			typed[-1]+=$word
		else
			typed+=("$word") at+=("$i")
		fi
	done
}

# Completes the job's own command, which begins at this index of COMP_WORDS,
# as if it had been typed alone.
__gpusched_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)) && [[ $cur != */* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
	fi
}

_gpusched() {
	local typed at cur cut line word i wide=0 words=() abouts=()
	__gpusched_words
	cur=${typed[-1]-}
	# Readline replaces only what follows the last = or :.
	cut=${cur%"${cur##*[=:]}"}
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == $'\t'command\ * ]]; then
			__gpusched_command "${at[${line##* }]}"
			return
		fi
		[[ $line == *$'\t'* ]] || line+=$'\t'
		word=${line%%$'\t'*}
		[[ $word == "$cur"* ]] || continue
		printf -v word '%q' "${word#"$cut"}"
		words+=("$word")
		abouts+=("${line#*$'\t'}")
		((wide = ${#word} > wide ? ${#word} : wide))
	done < <("${COMP_WORDS[0]}" __complete "${typed[@]}" 2>/dev/null)
	COMPREPLY=("${words[@]}")
	if ((${#words[@]} == 1)); then
		[[ ${words[0]} == *= ]] && compopt -o nospace 2>/dev/null
		return
	fi
	# A list shows descriptions, unless a word is to be inserted into the line
	# (menu-complete, insert-completions).
	[[ ${COMP_TYPE-} == 37 || ${COMP_TYPE-} == 42 ]] && return
	for i in "${!words[@]}"; do
		if [[ -n ${abouts[i]} ]]; then
			printf -v line '%-*s  (%s)' "$wide" "${words[i]}" "${abouts[i]}"
			COMPREPLY[i]=${line:0:${COLUMNS:-80}}
		fi
	done
}

complete -o default -F _gpusched gpusched
