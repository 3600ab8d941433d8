module buildfix/engine

go 1.25.0

require (
	go.starlark.net v0.0.0-20260908191801-89a6a09411d5
	golang.org/x/text v0.40.0
)

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	golang.org/x/sys v0.42.0 // indirect
)
