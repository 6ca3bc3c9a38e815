#!/usr/bin/env bash
# run.sh COMMAND [NAME...]: tries the built command on real file systems and transports, one script after another.
#
# Each NAME.sh or NAME.py beside this file is one transport (NAME/main.sh or NAME/main.py where it needs more than one file). It is called
# with SNAPSYNC (the command's absolute path) and WORK (an empty directory of its own) in the environment, installs what it needs with
# install.sh, and prints what it saw. Its exit code is the verdict: 0 passed, 77 not possible here (the last line says why), else failed.
# `run.sh` ends with 1 if any failed; a skipped transport fails nothing.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: run.sh COMMAND [NAME...]" >&2; exit 64; }
SNAPSYNC=$(realpath "$1")
export SNAPSYNC
shift

transports() {
    local file
    for file in "$here"/*.sh "$here"/*.py "$here"/*/main.sh "$here"/*/main.py; do
        case "$file" in "$here/run.sh" | "$here/install.sh" | "$here/common."* | *'*'*) ;; *) echo "$file" ;; esac
    done
}
name_of() {
    local file=${1#"$here"/}
    file=${file%/main.*}
    echo "${file%.*}"
}

status=0 summary=
for file in $(transports); do
    name=$(name_of "$file")
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/snapsync-transport.XXXXXX")
    export WORK
    echo "== $name"
    begin=$SECONDS
    case "$file" in *.py) python3 "$file" ;; *) bash "$file" ;; esac 2>&1 | tee "$WORK.log"
    code=${PIPESTATUS[0]}
    case $code in
        0) verdict=passed ;;
        77) verdict="skipped: $(tail -n 1 "$WORK.log")" ;;
        *) verdict="FAILED ($code)" status=1 ;;
    esac
    rm -rf --one-file-system "$WORK" "$WORK.log"
    summary+=$(printf '%-16s %4d s  %s' "$name" $((SECONDS - begin)) "$verdict")$'\n'
done
printf '\n%s' "$summary"
exit $status
