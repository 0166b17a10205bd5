module fabricscope/tests/compose

go 1.21

require github.com/compose-spec/compose-go/v2 v2.16.2
