import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { GLOBAL_FLAGS } from '../../src/cli/globals.ts'
import { parse } from '../../src/cli/parse.ts'

const argv = (line: string): string[] => line.split(' ').filter((word) => word !== '')

const misuse = (line: string): string => {
  const parsed = parse(COMMANDS, argv(line))
  return parsed.ok ? `accepted as ${parsed.value.kind}` : parsed.error.message
}

const call = (line: string) => {
  const parsed = parse(COMMANDS, argv(line))
  if (!parsed.ok || parsed.value.kind !== 'run') throw new Error(`not a call: ${line}`)
  return parsed.value
}

describe('parse', () => {
  it('finds the command and reads its flags wherever they stand', () => {
    for (const line of [
      '--data /d secret create --name ci --json',
      'secret --json create --data=/d --name=ci',
      '--json --name ci secret create --data /d',
    ]) {
      const { command, flags, globals } = call(line)
      expect(command.path).toEqual(['secret', 'create'])
      expect(flags).toEqual({ name: 'ci' })
      expect(globals).toMatchObject({ data: '/d', json: true, verbose: false })
    }
  })

  it('reads words, numbers, lists and switches as what they are', () => {
    expect(call('secret refresh 12').args).toEqual({ id: 12 })
    expect(call('token create --label A --stream a --stream b --bind 3 --secure').flags).toMatchObject({
      kind: 'publish',
      label: 'A',
      stream: ['a', 'b'],
      regex: [],
      bind: 3,
      secure: true,
      expires: undefined,
    })
  })

  it('takes the words of a choice in any case, as queries of the API do', () => {
    expect(call('webhook test --type viewerconnection').flags).toMatchObject({ type: 'ViewerConnection' })
    expect(call('token create --label A --stream a --kind Subscribe').flags).toMatchObject({ kind: 'subscribe' })
  })

  it('accepts a value that begins with a dash only where the value cannot be missing', () => {
    expect(call('secret create --name=-x').flags).toEqual({ name: '-x' })
    expect(call('token create --body -').flags).toMatchObject({ body: '-' })
    expect(misuse('secret create --name --json')).toContain('--name needs a value')
    expect(misuse('secret create --name')).toBe('--name needs a value')
  })

  it.each([
    ['secrt list', 'unknown command "secrt"; did you mean secret?'],
    ['secret lst', 'unknown command "secret lst"; did you mean secret list?'],
    ['secret frobnicate', 'unknown command "secret frobnicate"; secret has create, list, refresh, delete'],
    ['secret create --nam x', 'unknown flag --nam; did you mean --name?'],
    ['secret list --name x', 'secret list has no flag --name'],
    ['secret create', '--name is required'],
    ['secret create --name a --name b', '--name may be given once'],
    ['secret refresh', 'ID is required'],
    ['secret refresh one', 'ID must be a whole number from 1, not "one"'],
    ['secret refresh 0', 'ID must be a whole number from 1, not "0"'],
    ['secret refresh 1 2', 'secret refresh does not take "2"'],
    ['serve --port 70000', '--port must be a whole number from 0 to 65535, not "70000"'],
    ['serve --json=yes', '--json takes no value'],
    ['credential create --name a --scope all', '--scope must be write or read, not "all"'],
    ['check', '--action is required; --stream is required; --ip is required'],
    ['help secrt', 'unknown command "secrt"; did you mean secret?'],
  ])('refuses `%s`', (line, message) => {
    expect(misuse(line)).toBe(message)
  })

  it('does not echo terminal control characters, nor the whole of a long text', () => {
    const parsed = parse(COMMANDS, ['secret', `\u001b[2J${'x'.repeat(500)}`])
    expect(parsed).toMatchObject({ ok: false, error: { message: expect.not.stringContaining('\u001b') } })
    expect(parsed.ok ? '' : parsed.error.message.length).toBeLessThan(200)
  })
})

describe('the table of commands', () => {
  it('gives a flag of one name a value in every command or in none, which parsing relies on', () => {
    const kinds = new Map<string, boolean>()
    for (const { flags } of COMMANDS) {
      for (const [name, flag] of Object.entries({ ...flags, ...GLOBAL_FLAGS })) {
        expect(kinds.get(name) ?? flag.placeholder === '', name).toBe(flag.placeholder === '')
        kinds.set(name, flag.placeholder === '')
      }
    }
  })

  it('has no command whose name is a prefix of another, so that the first match is the only one', () => {
    const names = COMMANDS.map(({ path }) => `${path.join(' ')} `)
    const clashes = names.filter((name) => names.some((other) => other !== name && other.startsWith(name)))
    expect(clashes).toEqual([])
  })

  it('has valid examples: each parses as the command that it explains', () => {
    for (const { path, examples } of COMMANDS) {
      for (const example of examples) {
        const words = example.match(/sluice ([^|<)]*)/)?.[1] ?? ''
        const args = [...words.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
        const parsed = parse(COMMANDS, args)
        expect(parsed.ok && parsed.value.kind === 'run' ? parsed.value.command.path : parsed, example).toEqual(path)
      }
    }
  })
})
