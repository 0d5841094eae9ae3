package tui

import "strings"

// syntax is what highlight knows of a family of languages.
type syntax struct {
	comments []string  // what begins one that ends with its line
	block    [2]string // what encloses one of several lines
	quotes   []string  // of strings, longer ones first
	keywords []string
	anyCase  bool // of keywords
	keys     bool // a word before a colon or an equals sign is a key
	tags     bool // a word after < is a tag
	diff     bool // the lines of a patch
}

// syntaxOf returns the syntax of a language by the name in a code block; nil: it is unknown.
func syntaxOf(language string) *syntax {
	language = strings.ToLower(language)
	for names, s := range syntaxes {
		for name := range strings.FieldsSeq(names) {
			if name == language {
				return s
			}
		}
	}
	return nil
}

// syntaxes are the syntaxes by the names of their languages. A family has the keywords of all its languages: a keyword
// of only some of them is a rare name in the others.
var syntaxes = map[string]*syntax{
	"c h cpp c++ cc hpp cs csharp c# go golang java js javascript jsx mjs ts typescript tsx kotlin kt proto protobuf scala swift dart php zig": {
		comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: []string{`"""`, `"`, "'", "`"},
		keywords: strings.Fields("abstract as async auto await bool boolean break byte case catch chan char class const constexpr " +
			"continue crate data debugger default defer delete do double dyn echo else enum export extends extension extern fallthrough " +
			"false final finally float fn for foreach from fun func function go goto guard if impl implements import in inline instanceof " +
			"int interface internal let is lock long loop macro_rules map match message mod module move mut namespace new nil null nullptr " +
			"object of operator oneof override package private protected protocol pub public range readonly ref repeated require return rpc " +
			"sealed select self service short signed sizeof static string struct super switch syntax template this throw throws trait true try " +
			"type typedef typename typeof uint undefined union unsafe unsigned use using val var virtual void volatile when where while with yield"),
	},
	"rust rs": { // an apostrophe begins a lifetime as well
		comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: []string{`"`},
		keywords: strings.Fields("as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i32 i64 if impl in let " +
			"loop macro_rules match mod move mut pub ref return self Self static str struct super trait true type u16 u32 u64 u8 union unsafe use " +
			"usize where while"),
	},
	"python py pycon ruby rb elixir ex perl r": {
		comments: []string{"#"}, quotes: []string{`"""`, "'''", `"`, "'"},
		keywords: strings.Fields("False None True alias and as assert async await begin break case class continue def del do elif else elsif end " +
			"ensure except false finally for from global if import in is lambda match module my next nil nonlocal not or pass raise redo " +
			"require rescue retry return self sub super then true try undef unless until use when while with yield"),
	},
	"bash sh shell zsh fish console powershell ps1 make makefile docker dockerfile": {
		comments: []string{"#"}, quotes: []string{`"`, "'"}, anyCase: true,
		keywords: strings.Fields("add arg case cmd copy define do done elif else endef endif entrypoint env esac exit export expose fi for from function " +
			"if ifdef ifeq ifneq in include label local param readonly return run set source then trap unset until user volume while workdir"),
	},
	"sql mysql postgres postgresql sqlite lua haskell hs": {
		comments: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: []string{"'", `"`, "`"}, anyCase: true,
		keywords: strings.Fields("add alter and as asc begin between break by cascade case check commit constraint create cross default delete desc " +
			"distinct do drop else elseif end exists explain false for foreign from full function group having if in index inner insert into is " +
			"join key left like limit local not null nil offset on or order outer primary references repeat replace return returning right rollback " +
			"select set table then true union unique until update using values view when where while with"),
	},
	"json jsonc json5 yaml yml toml ini cfg conf properties env hcl terraform tf graphql gql nginx": {
		comments: []string{"#", "//"}, quotes: []string{`"""`, "'''", `"`, "'"}, keys: true,
		keywords: strings.Fields("data enum extend false fragment input interface module mutation no null off on output provider query resource scalar " +
			"subscription true type union variable yes"),
	},
	"css scss less": {
		comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: []string{`"`, "'"}, keys: true,
		keywords: strings.Fields("@media @import @include @mixin @font-face @keyframes @use @extend @if @else @supports !important"),
	},
	"html htm xml svg vue svelte": {block: [2]string{"<!--", "-->"}, quotes: []string{`"`}, tags: true},
	"diff patch":                  {diff: true},
}
