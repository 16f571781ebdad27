import { COMPUTED, type Import, importsOf } from './imports.ts'
import { finding, type Module } from './source.ts'

interface Room {
  /** Folders and files of src that it may import; `type x` allows only types. A folder may always import itself. */
  readonly from: readonly string[]
  /** Built-in modules of Node: `all`, or only their `types`. */
  readonly node: 'all' | 'types'
  /** The allowed packages, if they are restricted. */
  readonly packages?: readonly string[]
}

/** Which folder may import which. ARCHITECTURE.md explains why. A folder that is missing here is not allowed. */
const WALLS: Readonly<Record<string, Room>> = {
  'main.ts': { from: ['*'], node: 'all' },
  app: { from: ['*'], node: 'all' },
  'sign.ts': { from: ['base', 'core'], node: 'all' },
  base: { from: [], node: 'all' },
  config: { from: ['base'], node: 'all' },
  core: {
    from: [
      'base/ipText.ts',
      'base/numbers.ts',
      'base/objects.ts',
      'base/percent.ts',
      'base/result.ts',
      'base/time.ts',
      'type base',
    ],
    node: 'types',
    packages: ['re2js', 'typebox'],
  },
  store: { from: ['base', 'core'], node: 'all' },
  net: { from: ['base', 'core'], node: 'all' },
  tls: { from: ['base', 'core', 'net', 'store/store.ts'], node: 'all' },
  media: {
    from: [
      'base',
      'core/hls',
      'core/restream',
      'core/access/address.ts',
      'core/access/protocols.ts',
      'core/notices.ts',
      'core/streams/streamId.ts',
      'type core',
    ],
    node: 'all',
  },
  delivery: { from: ['base', 'core', 'net', 'store/store.ts'], node: 'all' },
  services: { from: ['base', 'core', 'store/store.ts', 'type media'], node: 'types' },
  commands: {
    from: [
      'base',
      'core',
      'sign.ts',
      'store/store.ts',
      'type store/cached.ts',
      'type services',
      'media/engine.ts',
      'media/feedsOnAir.ts',
      'media/sessionRegistry.ts',
      'media/frame.ts',
    ],
    node: 'types',
  },
  edge: {
    from: [
      'base',
      'core',
      'type config',
      'commands',
      'type services',
      'media/codecs/codecs.ts',
      'type media',
      'type tls',
    ],
    node: 'all',
  },
  jobs: { from: ['base', 'core', 'type config', 'commands'], node: 'types' },
  cli: { from: ['base', 'core', 'config', 'commands', 'sign.ts', 'tls'], node: 'all' },
}

/** The room of a file: its folder directly below src, or the file itself. */
const roomOf = (path: string): string => path.split('/')[1] ?? ''

/** Every forbidden import of a module of src. */
export function wallsJumped(module: Module): string[] {
  const name = roomOf(module.path)
  const room = WALLS[name]
  if (room === undefined) return [finding(module, 0, `${name} is no room of the house`)]
  return importsOf(module)
    .filter((taken) => !mayImport(room, name, taken))
    .map((taken) => finding(module, taken.start, `${name} may not import ${describe(taken)}`))
}

function mayImport(room: Room, name: string, { target, isOurs, typeOnly }: Import): boolean {
  if (target === COMPUTED) return room.from.includes('*')
  if (target.startsWith('node:')) return room.node === 'all' || typeOnly
  if (!isOurs) return typeOnly || room.packages === undefined || room.packages.includes(packageOf(target))
  if (!target.startsWith('src/')) return false
  return [name, ...room.from].some((entry) => leadsTo(entry, target.slice('src/'.length), typeOnly))
}

function leadsTo(entry: string, target: string, typeOnly: boolean): boolean {
  if (entry === '*') return true
  if (entry.startsWith('type ')) return typeOnly && leadsTo(entry.slice('type '.length), target, typeOnly)
  return target === entry || target.startsWith(`${entry}/`)
}

/** `@scope/name` of `@scope/name/part`, `name` of `name/part`. */
const packageOf = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')

const describe = ({ target, typeOnly }: Import): string =>
  typeOnly ? `${target}, not even its types` : `${target} (its types may be another matter: import type)`

/** What each folder of `web/` may import beside itself. What runs in browsers knows nothing of the server. */
const BROWSER_WALLS: Readonly<Record<string, readonly string[]>> = {
  client: [],
  docs: ['minisearch'],
  player: [
    'web/client/index.ts',
    'web/client/environment.ts',
    'web/client/backoff.ts',
    'web/client/quality.ts',
    'hls.js',
    'hls.js/light',
  ],
  // The computed name is the player's, which a page loads from its server.
  dashboard: ['web/client/index.ts', '#api', 'preact', '@preact/signals', 'lean-qr', 'uplot', COMPUTED],
}

/** Every forbidden import of a module of `web/`. */
export function browserWallsJumped(module: Module): string[] {
  const [, name = ''] = module.path.split('/')
  return importsOf(module)
    .filter(({ target }) => !target.startsWith(`web/${name}/`))
    .filter(({ target }) => ![target, packageOf(target)].some((one) => BROWSER_WALLS[name]?.includes(one)))
    .map((taken) => finding(module, taken.start, `web/${name} may not import ${describe(taken)}`))
}

/** The table of ARCHITECTURE.md. */
export function wallsMarkdown(): string {
  const rows = Object.entries(WALLS).map(([name, { from, node, packages }]) => {
    const may = from.includes('*') ? 'everything' : from.map(named).join(', ') || 'none of the others'
    const builtIn = node === 'all' ? 'yes' : 'types only'
    return `| \`${name}\` | ${may} | ${builtIn} | ${packages ? packages.map((each) => `\`${each}\``).join(', ') : 'any'} |`
  })
  return ['| Room | May import | Node | Packages |', '|---|---|---|---|', ...rows, ''].join('\n')
}

const named = (entry: string): string =>
  entry.startsWith('type ') ? `types of \`${entry.slice('type '.length)}\`` : `\`${entry}\``
