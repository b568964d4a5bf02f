# SPDX-License-Identifier: Apache-2.0
complete --command corescale --no-files --arguments "(env _CORESCALE_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS=(commandline -cp) corescale)" --condition "env _CORESCALE_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=is-args _TYPER_COMPLETE_ARGS=(commandline -cp) corescale"
