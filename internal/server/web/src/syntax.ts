// Colours of code, by the same rules as in the terminal (internal/terminal/tui/syntax.go): comments, strings, numbers,
// keywords, keys and functions are found without a grammar. It takes time in proportion to the code.

export type Tone = 'comment' | 'string' | 'number' | 'keyword' | 'name' | 'added' | 'removed' | 'place'
export type Token = [tone: Tone | null, text: string]

interface Syntax {
  comments?: string[] // what begins one that ends with its line
  block?: [string, string] // what encloses one of several lines
  quotes?: string[] // of strings, longer ones first
  keywords?: string
  anyCase?: boolean // of keywords
  keys?: boolean // a word before a colon or an equals sign is a key
  tags?: boolean // a word after < is a tag
  diff?: boolean // the lines of a patch
}

const c: Pick<Syntax, 'comments' | 'block'> = { comments: ['//'], block: ['/*', '*/'] }

// syntaxes are the families of languages. A family shares the keywords of all its languages: as a name in another of them
// such a word is rare.
const syntaxes: Record<string, Syntax> = {
  'c h cpp c++ cc hpp cs csharp c# go golang java js javascript jsx mjs ts typescript tsx kotlin kt proto protobuf scala swift dart php zig': {
    ...c, quotes: ['"""', '"', "'", '`'],
    keywords: 'abstract as async auto await bool boolean break byte case catch chan char class const constexpr continue crate data debugger default defer delete do double dyn echo else enum export extends extension extern fallthrough false final finally float fn for foreach from fun func function go goto guard if impl implements import in inline instanceof int interface internal is lock let long loop macro_rules map match message mod module move mut namespace new nil null nullptr object of operator oneof override package private protected protocol pub public range readonly ref repeated require return rpc sealed select self service short signed sizeof static string struct super switch syntax template this throw throws trait true try type typedef typename typeof uint undefined union unsafe unsigned use using val var virtual void volatile when where while with yield',
  },
  'rust rs': { ...c, quotes: ['"'], keywords: 'as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i32 i64 if impl in let loop macro_rules match mod move mut pub ref return self Self static str struct super trait true type u16 u32 u64 u8 union unsafe use usize where while' },
  'python py pycon ruby rb elixir ex perl r': { comments: ['#'], quotes: ['"""', "'''", '"', "'"], keywords: 'False None True alias and as assert async await begin break case class continue def del do elif else elsif end ensure except false finally for from global if import in is lambda match module my next nil nonlocal not or pass raise redo require rescue retry return self sub super then true try undef unless until use when while with yield' },
  'bash sh shell zsh fish console powershell ps1 make makefile docker dockerfile': { comments: ['#'], quotes: ['"', "'"], anyCase: true, keywords: 'add arg case cmd copy define do done elif else endef endif entrypoint env esac exit export expose fi for from function if ifdef ifeq ifneq in include label local param readonly return run set source then trap unset until user volume while workdir' },
  'sql mysql postgres postgresql sqlite lua haskell hs': { comments: ['--'], block: ['/*', '*/'], quotes: ["'", '"', '`'], anyCase: true, keywords: 'add alter and as asc begin between break by cascade case check commit constraint create cross default delete desc distinct do drop else elseif end exists explain false for foreign from full function group having if in index inner insert into is join key left like limit local not null nil offset on or order outer primary references repeat replace return returning right rollback select set table then true union unique until update using values view when where while with' },
  'json jsonc json5 yaml yml toml ini cfg conf properties env hcl terraform tf graphql gql nginx': { comments: ['#', '//'], quotes: ['"""', "'''", '"', "'"], keys: true, keywords: 'data enum extend false fragment input interface module mutation no null off on output provider query resource scalar subscription true type union variable yes' },
  'css scss less': { ...c, quotes: ['"', "'"], keys: true, keywords: '@media @import @include @mixin @font-face @keyframes @use @extend @if @else @supports !important' },
  'html htm xml svg vue svelte': { block: ['<!--', '-->'], quotes: ['"'], tags: true },
  'diff patch': { diff: true },
}

const syntaxOf = (language: string): Syntax | undefined => {
  const names = Object.keys(syntaxes).find((all) => all.split(' ').includes(language.toLowerCase()))
  return names === undefined ? undefined : syntaxes[names]
}

const bound = 50_000 // characters of a block that are coloured; a longer one is shown as it is

// tokens cuts code into tokens with their tones; of an unknown language all of it is one without.
export function tokens(source: string, language: string): Token[] {
  const s = syntaxOf(language)
  if (!s || source.length > bound) return [[null, source]]
  if (s.diff) return source.split(/(?<=\n)/).map((line): Token => [line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : null, line])
  const found: Token[] = []
  const keywords = new Set((s.keywords ?? '').split(' '))
  for (let at = 0; at < source.length; ) {
    const [tone, n] = token(s, keywords, source, at)
    const last = found.at(-1)
    if (last && last[0] === tone && tone === null) last[1] += source.slice(at, at + n) // so that few elements are made
    else found.push([tone, source.slice(at, at + n)])
    at += n
  }
  return found
}

const letter = /[\p{L}\p{Nd}_$@]/u
const inWord = (char: string | undefined): boolean => char !== undefined && letter.test(char)
const digit = /\d/

// token returns the tone and the length of the token at a place.
function token(s: Syntax, keywords: Set<string>, source: string, at: number): [Tone | null, number] {
  const before = source[at - 1] ?? '\n'
  const first = source[at] ?? ''
  if (s.block && source.startsWith(s.block[0], at)) return ['comment', through(source, s.block[1], at, s.block[0].length)]
  for (const begin of s.comments ?? []) {
    if (source.startsWith(begin, at) && ((begin !== '#' && !s.keys) || /\s/.test(before))) return ['comment', until(source, '\n', at)] // neither $# nor http://
  }
  for (const quote of s.quotes ?? []) {
    const n = quoted(source, quote, at)
    if (n > 0 && !inWord(before)) return [s.keys && isKey(source, at + n) ? 'name' : 'string', n]
  }
  if (!inWord(first)) {
    if (!s.tags || first !== '<') return [null, 1]
    let n = 1
    while ('/!?'.includes(source[at + n] ?? ' ')) n++
    return ['name', n + word(s, source, at + n)]
  }
  const n = Math.max(1, word(s, source, at))
  const text = source.slice(at, at + n)
  if (digit.test(first)) return ['number', n]
  if (keywords.has(s.anyCase ? text.toLowerCase() : text)) return ['keyword', n]
  return [(s.keys && isKey(source, at + n)) || source[at + n] === '(' ? 'name' : null, n]
}

// quoted returns the length of the string at a place, or 0 without one. An apostrophe or a lifetime is not a string: it must
// be closed in its line, unless its quotes are three or a backtick.
function quoted(source: string, quote: string, at: number): number {
  if (!source.startsWith(quote, at)) return 0
  for (let i = at + quote.length; i < source.length; i++) {
    if (source.startsWith(quote, i)) return i + quote.length - at
    if (source[i] === '\\') i++
    else if (source[i] === '\n' && quote.length === 1 && quote !== '`') return 0
  }
  return 0
}

// word returns the length of the word at a place. A point belongs to a number, and a hyphen to a name where names may
// have one.
function word(s: Syntax, source: string, at: number): number {
  const number = digit.test(source[at] ?? '')
  for (let i = at; i < source.length; i++) {
    const char = source[i]
    if (!inWord(char) && (char !== '.' || !number) && (char !== '-' || number || i === at || (!s.keys && !s.tags))) return i - at
  }
  return source.length - at
}

// isKey reports whether what follows a word makes it a key.
function isKey(source: string, at: number): boolean {
  while (source[at] === ' ') at++
  return (source[at] === ':' && !source.startsWith('://', at)) || source[at] === '='
}

function until(source: string, end: string, at: number): number {
  const i = source.indexOf(end, at)
  return (i < 0 ? source.length : i) - at
}

function through(source: string, end: string, at: number, from: number): number {
  const i = source.indexOf(end, at + from)
  return (i < 0 ? source.length : i + end.length) - at
}
