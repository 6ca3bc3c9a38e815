#!/usr/bin/env bash
# Installs beside the program in PREFIX/bin what belongs to it: manual pages, completions, documentation.
#
#   Scripts/install_data.sh PREFIX
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=$1
program=$prefix/bin/snapsync
install -d "$prefix/share/man/man1" "$prefix/share/doc/snapsync"
rm -f "$prefix/share/man/man1/snapsync"*.1.gz
Scripts/manual.py "$program" "$prefix/share/man/man1"
gzip -9 -n -f "$prefix/share/man/man1/snapsync"*.1
completion() { # completion SHELL FILE
    install -d "$(dirname "$prefix/share/$2")"
    # The shell reads the file; it is not run.
    "$program" --generate-completion-script "$1" | sed '1{/^#!/d}' >"$prefix/share/$2"
}
completion bash bash-completion/completions/snapsync
completion zsh zsh/vendor-completions/_snapsync
completion fish fish/vendor_completions.d/snapsync.fish
install -d "$prefix/share/doc/snapsync/internals"
install -m 644 README.md docs/*.md "$prefix/share/doc/snapsync/"
install -m 644 docs/internals/*.md "$prefix/share/doc/snapsync/internals/"
chmod -R u=rwX,go=rX "$prefix/share/man/man1" "$prefix/share/doc/snapsync" "$prefix/share/bash-completion" "$prefix/share/zsh" "$prefix/share/fish"
