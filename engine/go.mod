module buildfix/engine

go 1.25.0

require (
	github.com/bazelbuild/buildtools v0.0.0-20260904073137-eaa4d125b423 // indirect
	go.starlark.net v0.0.0-20260908191801-89a6a09411d5 // indirect
)
