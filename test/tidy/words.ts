import { finding, isNode, type Module, nameOf, type Source, type SyntaxNode } from './source.ts'

/** A pattern, and what is better. */
type Rule = readonly [pattern: RegExp, better: string]

/** Names that nothing may declare, and the better ones. LiveKit is the name of a product. */
const RETIRED_NAMES: readonly Rule[] = [
  [/^Live(?!Kit)[A-Z]/, 'Channel… for the channels API, ActiveSession… for sessions'],
  [/^live(Api|Changed|Failure|Feed|Page|Session|Settings|Status|TxOf|Webhook)/, 'channel…, or active… for sessions'],
  [/^(Engine|Stored)Life|^engineLife/, 'EngineState'],
  [/v2life/i, 'runs, schedules'],
  [/^(unborn|newLife|NEW_LIFE)$/, 'initialState'],
  [/^bury$/, 'delete'],
  [/^wind$/, 'shutDown'],
  [/^(Approach|approachOf)$/, 'AccessAttempt, attemptOf'],
  [/^(Considered|considerAs)$/, 'Evaluation, evaluate'],
  [/^(Door|openDoors?)$|^Door[A-Z]/, 'SessionRequest, SignalingEndpoint'],
  [/^(Lanes?|Lane[A-Z]\w*|LANE_LIMITS)$/, 'fastPath, DeliverySlots'],
  [/^Outlets?$/, 'FanoutTarget'],
  [/^Patience$/, 'NackTimer'],
  [/^Sinks?$/, 'DownTrack for what a viewer gets, FrameSink for frames'],
  [/^Sound$/, 'BodyReader'],
  [/^Asked$/, 'Query, Request'],
  [/desertedStreams/i, 'idleStreams'],
  [/^(changed|feed)Elsewhere$/, 'changedRemotely, remoteFeed'],
  [/^shownPage$/, 'mapPage'],
  [/^rowsBehind$/, 'rowsAfter'],
  [/^signOfLife$/, 'renewLease'],
]

/** Words of camel case that no name in a rewritten folder may contain. Elsewhere they may still have another use. */
const RETIRED_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    approach: 'attempt',
    bury: 'delete',
    considered: 'evaluated',
    deserted: 'idle',
    door: 'endpoint, proxy, or what it is',
    doors: 'endpoints',
    elsewhere: 'remote',
    lane: 'fastPath, or slot',
    lanes: 'slots',
    life: 'state',
    lives: 'states',
    stopTimeout: 'timeout',
    picture: 'video, frame, or thumbnail',
    pictures: 'video, frames, or thumbnails',
    place: 'location, endpoint, origin, node, or what it is',
    places: 'locations, endpoints, origins, nodes, or what they are',
    sound: 'reader, isValid, or audio',
    unborn: 'initial',
    unsound: 'invalid',
  }),
)

/** Names that no folder or file may have, without what follows the first dot. */
const RETIRED_PATHS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    door: 'signaling, or proxy',
    doors: 'signaling',
    lane: 'fastPath, or slots',
    lanes: 'slots',
    life: 'runs, or schedules',
    live: 'channels, or sessions',
    v2: 'channels',
    v2life: 'runs, or schedules',
  }),
)

/** Phrases with a plainer form in any sentence, wherever they occur in a text. */
const STILTED: readonly Rule[] = [
  [/\banew\b/gi, 'again'],
  [/\bwhoever\b/gi, 'the actor: the caller, a viewer, a process'],
  [/\b(told|tells?)\s+of\b/gi, 'receives, reports, or shows'],
  [/\bso\s+many(?=[,.;:)]|$)/gi, 'the number: at most N, a limited number'],
  [/\bthe\s+short\s+way\b/gi, 'the fast path'],
  [/\bgets?\s+narrow\b/gi, 'the bandwidth drops'],
  [/\ball\s+the\s+same\b/gi, 'still, anyway, or also'],
  [/(?<![-\w`'/])(some|every|any|no)body(?![-\w`']|\.\w)/gi, 'the actor: a client, every viewer, no process'],
  [/\bwho\s+is\s+on\b/gi, 'the open sessions'],
  [/\bin\s+vain\b/gi, 'without a result'],
  [/\bto\s+be\s+had\b/gi, 'available'],
  [/\bsigns?\s+of\s+life\b/gi, 'renewal of its lease, or answer'],
  [/\bkey\s+pictures?\b|\bpicture\s+by\s+picture\b/gi, 'keyframe, frame by frame'],
]

/** Folders and files in which all rules hold. */
const REWRITTEN: readonly string[] = [
  'src/',
  'test/',
  'web/client/',
  'web/docs/',
  'web/player/',
  'docs/',
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
]

/** Its own test names what it must find. */
const EXAMPLES = 'test/tidyWords.test.ts'

export const isRewritten = ({ path }: Source): boolean =>
  path !== EXAMPLES && REWRITTEN.some((start) => path.startsWith(start))

/**
 * In the product these were private words. Beside it, lanes are sets of tests (test/lanes.ts), and a place is a store with
 * the data directory of a server (test/support/place.ts).
 */
const isWordOfTests = (path: string, name: string): boolean => !path.startsWith('src/') && /lane|place/i.test(name)

/** Retired names that a module declares; in a rewritten folder also names with a retired word. */
export function retiredNames(module: Module): string[] {
  return module.nodes.flatMap(declaredBy).flatMap(({ name, start }) => {
    if (isWordOfTests(module.path, name)) return []
    const better = betterName(name) ?? (isRewritten(module) ? betterWord(name) : undefined)
    return better === undefined ? [] : [finding(module, start, `${name} is a retired name; better: ${better}`)]
  })
}

const betterName = (name: string): string | undefined => RETIRED_NAMES.find(([pattern]) => pattern.test(name))?.[1]

/** `isInTheLane` consists of the words is, in, the and lane. */
function betterWord(name: string): string | undefined {
  const words = name.split(/[_$]+|(?<=[a-z0-9])(?=[A-Z])/).map((word) => RETIRED_WORDS.get(word.toLowerCase()))
  return words.find((better) => better !== undefined)
}

interface Declared {
  readonly name: string
  readonly start: number
}

const OWN_NAME = new Set([
  'ClassDeclaration',
  'FunctionDeclaration',
  'FunctionExpression',
  'TSEnumDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'VariableDeclarator',
])
const MEMBER = new Set(['MethodDefinition', 'PropertyDefinition', 'TSMethodSignature', 'TSPropertySignature'])

/** The names that a node declares: its own, its parameters, its key. */
function declaredBy(node: SyntaxNode): Declared[] {
  if (MEMBER.has(node.type)) return node['computed'] === true ? [] : boundBy(node['key'])
  const parameters = Array.isArray(node['params']) ? (node['params'] as unknown[]).flatMap(boundBy) : []
  return OWN_NAME.has(node.type) ? [...boundBy(node['id']), ...parameters] : parameters
}

/** The names that a pattern binds: `{ a, b: [c], ...d } = e` binds a, c and d. */
function boundBy(pattern: unknown): Declared[] {
  if (!isNode(pattern)) return []
  if (['Identifier', 'PrivateIdentifier'].includes(pattern.type))
    return [{ name: nameOf(pattern), start: pattern.start }]
  const below = ['argument', 'left', 'parameter', 'value'].map((part) => pattern[part])
  const listed = ['elements', 'properties'].flatMap((part) => (pattern[part] as unknown[] | undefined) ?? [])
  return [...below, ...listed].flatMap(boundBy)
}

/** A path in which a folder or file has a retired name. */
export function retiredPaths({ path }: Pick<Source, 'path'>): string[] {
  return path.split('/').flatMap((part) => {
    const better = RETIRED_PATHS.get(stemOf(part))
    return better === undefined || isWordOfTests(path, part)
      ? []
      : [`${path}: ${part} is a retired name; better: ${better}`]
  })
}

const stemOf = (part: string): string => part.split('.')[0] ?? ''

/** Stilted phrases in the comments and test names of a module. */
export function stiltedCode(module: Module): string[] {
  const literals = module.nodes.filter(({ type }) => type === 'Literal' || type === 'TemplateElement')
  return stilted(module, [...commentsOf(module.text, literals), ...testNames(module.nodes)])
}

/** Stilted phrases in a text for readers, such as Markdown. Code in it is not prose. */
export function stiltedPage(page: Source): string[] {
  const text = page.text.replace(/^```.*?^```|`[^`\n]*`/gms, (code) => code.replace(/[^\n]/g, ' '))
  return stilted({ ...page, text }, [{ start: 0, end: text.length }])
}

interface Span {
  readonly start: number
  readonly end: number
}

function stilted(source: Source, spans: readonly Span[]): string[] {
  return spans.flatMap(({ start, end }) => {
    const text = joined(source.text.slice(start, end))
    return STILTED.flatMap(([phrase, better]) =>
      [...text.matchAll(phrase)].map(({ index, 0: found }) =>
        finding(source, start + index, `"${found}" is stilted; better: ${better}`),
      ),
    )
  })
}

/** A phrase may go over the end of a line, past the asterisk or slashes of the next one. The length stays. */
const joined = (text: string): string => text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/)?/g, (end) => ' '.repeat(end.length))

function commentsOf(text: string, literals: readonly Span[]): Span[] {
  const code = text.split('')
  for (const { start, end } of literals) code.fill('_', start, end)
  return [...code.join('').matchAll(/\/\*.*?\*\/|\/\/[^\n]*/gs)].map(({ index, 0: comment }) => ({
    start: index,
    end: index + comment.length,
  }))
}

function testNames(nodes: readonly SyntaxNode[]): Span[] {
  return nodes.flatMap((node) => {
    const [name] = node.type === 'CallExpression' ? (node['arguments'] as unknown[]) : []
    return isNode(name) && /^(test|it|describe)$/.test(callee(node)) ? [name] : []
  })
}

/** `test` of `test(…)`, `test.each(…)(…)` and `test.each` with a table as a template. */
function callee(node: unknown): string {
  if (!isNode(node)) return ''
  if (node.type === 'Identifier') return nameOf(node)
  return callee(node['callee'] ?? node['object'] ?? node['tag'])
}
