import { OTHER_VARIABLES } from './environment.ts'
import type { Key } from './keys.ts'
import { allKeys, environmentName, isKey, root, type ConfigSection } from './schema.ts'

/** `config.default.yaml`: every key with its default and its sentence, ready to copy from. */
export function renderDefaultFile(): string {
  const head = [
    '# Every key of the configuration with its default. Copy what you change to config.yaml, or set the environment',
    '# variable of the same name: server.port is SLUICE_SERVER_PORT. Written by scripts/generate.ts.',
  ]
  return `${[...head, ...yamlOf(root, '')].join('\n')}\n`
}

function yamlOf(section: ConfigSection, indent: string): string[] {
  return Object.entries(section).flatMap(([name, entry]) => {
    if (isKey(entry)) return [...comment(entry, indent), `${indent}${name}: ${JSON.stringify(entry.default)}`]
    const blank = indent === '' ? [''] : []
    return [...blank, `${indent}${name}:`, ...yamlOf(entry, `${indent}  `)]
  })
}

const comment = (key: Key<unknown>, indent: string): string[] =>
  wrap(`${key.about} Allowed: ${key.allowed}.`, 116 - indent.length).map((line) => `${indent}# ${line}`)

function wrap(sentence: string, width: number): string[] {
  const lines: string[] = []
  for (const word of sentence.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** `docs/reference/configuration.md`: the same as a page, with the names of the environment variables. */
export function renderDocument(): string {
  const sections = Object.keys(root).map(renderSection)
  return `${[INTRODUCTION, ...sections, renderOthers()].join('\n\n')}\n`
}

const INTRODUCTION = `# Configuration

<!-- Written by scripts/generate.ts from src/config/schema.ts. -->

Every key has a default, so Sluice starts without any configuration. Sluice reads other values from these sources, in
this order. Later sources override earlier ones:

1. a YAML file: the one named by \`--config\` or \`SLUICE_CONFIG\`, else \`./config.yaml\` when it exists;
2. the environment: \`SLUICE_\` and the key in capitals, lists separated by commas;
3. the command line.

A key that does not exist, a value of the wrong type or out of bounds, and an unknown \`SLUICE_\` variable all keep
Sluice from starting. It reports all such problems at once, with their location. It never shows or logs the values of
keys marked *secret*. **Settings**, **Server** in the dashboard shows each value with its source.

A running server reads all sources again on \`sluice reload\`, on SIGHUP and on \`systemctl reload\`. It applies the keys with
*yes* under *Reload*, and names the others that changed: they need a restart. If anything is wrong in any source, it changes
nothing. Connections and streams go on. Limits apply to what comes after the reload; a lower one disconnects no client.`

function renderSection(name: string): string {
  const rows = allKeys()
    .filter(([path]) => path.startsWith(`${name}.`))
    .map(([path, key]) => row(path, key))
  return [
    `## ${name}`,
    '',
    '| Key | Environment | Default | Allowed | Reload | |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function row(path: string, key: Key<unknown>): string {
  const secret = key.secret ? ' *Secret.*' : ''
  const cells = [`\`${path}\``, `\`${environmentName(path)}\``, `\`${JSON.stringify(key.default)}\``]
  return `| ${[...cells, key.allowed, key.live ? 'yes' : 'restart', key.about + secret].map(escapeCell).join(' | ')} |`
}

const escapeCell = (cell: string): string => cell.replaceAll('|', '\\|').replaceAll(/<(?=[a-z])/g, '\\<')

function renderOthers(): string {
  const rows = Object.entries(OTHER_VARIABLES).map(([name, about]) => `- \`${name}\`: ${about}.`)
  return `## Other variables

${rows.join('\n')}

Variables that an orchestrator sets to describe services called \`sluice\`, \`sluice-rtmp\` and the like (\`SLUICE_SERVICE_HOST\`,
\`SLUICE_RTMP_PORT=tcp://…\`) are ignored.`
}
