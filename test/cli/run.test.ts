import { describe, expect, it } from 'vitest'
import { err, ok } from '../../src/base/result.ts'
import { command } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { GROUPS } from '../../src/cli/help.ts'
import type { Backups } from '../../src/cli/host.ts'
import { failure } from '../../src/core/errors.ts'
import { fromChannelFailure, furtherReading, refusalJson } from '../../src/cli/refusal.ts'
import { run } from './fakeHost.ts'

describe('help', () => {
  it('lists every group with its purpose', async () => {
    const { status, stdout, stderr } = await run(['--help'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const { path } of COMMANDS) expect(stdout).toContain(`  ${path[0]} `)
  })

  it.each(COMMANDS.map((command) => [command.path.join(' '), command] as const))(
    'explains `%s`: its purpose, each flag, two examples',
    async (_name, { path, summary, flags, examples }) => {
      const { status, stdout } = await run([...path, '--help'])
      expect(status).toBe(0)
      expect(stdout.startsWith(`${summary}.`)).toBe(true)
      for (const [name, flag] of Object.entries(flags)) {
        expect(stdout).toContain(`--${name}`)
        if (flag.default !== undefined) expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`default ${flag.default}`)
      }
      for (const example of examples) expect(stdout).toContain(example)
      expect(await run(['help', ...path])).toMatchObject({ status: 0, stdout })
    },
  )

  it('states the purpose of each group', () => {
    const groups = new Set(COMMANDS.filter(({ path }) => path.length > 1).map(({ path }) => path[0]))
    expect(new Set(Object.keys(GROUPS))).toEqual(groups)
  })

  it('folds at the edge of the terminal all but what people copy', async () => {
    const terminal = () => ({ columns: 80, rows: 24 })
    const paths = [[], ...Object.keys(GROUPS).map((group) => [group]), ...COMMANDS.map(({ path }) => path)]
    for (const path of paths) {
      const { stdout } = await run([...path, '--help'], { terminal })
      const [text = ''] = stdout.split('\nExamples:')
      const isFoldable = (line: string): boolean => !line.startsWith('Usage:') && !/\S{40}/.test(line)
      expect(text.split('\n').filter((line) => line.length > 80 && isFoldable(line))).toEqual([])
    }
  })

  it('shows a group when its command is missing, with status 2', async () => {
    const asked = await run(['token', '--help'])
    const missing = await run(['token'])
    expect(asked).toMatchObject({ status: 0, stderr: '' })
    expect(missing).toMatchObject({ status: 2, stdout: '', stderr: asked.stdout })
    expect((await run([])).status).toBe(2)
  })

  it('prints the version', async () => {
    expect(await run(['--version'])).toEqual({ status: 0, stdout: '1.2.3\n', stderr: '' })
    expect(await run(['version'])).toEqual({ status: 0, stdout: '1.2.3\n', stderr: '' })
    expect(JSON.parse((await run(['--version', '--json'])).stdout)).toEqual({ version: '1.2.3' })
  })
})

describe('what others chose', () => {
  const ODD = 'a\u001b[31m\u009b31m\u202eb'
  const answer = (text: string) =>
    command({
      path: ['things'],
      summary: 'Things',
      flags: {},
      examples: ['sluice things', 'sluice things --json'],
      run: async () => ok({ json: { name: ODD }, text, note: `note ${text}`, hint: `hint ${text}` }),
    })
  const terminal = { terminal: () => ({ columns: 80, rows: 24 }), stderrIsTerminal: true }

  it('controls no terminal, in answers, notes, hints and refusals', async () => {
    const { stdout, stderr } = await run(['things'], terminal, [answer(ODD)])
    expect([stdout, stderr]).toEqual(['a�[31m�31m�b\n', 'note a�[31m�31m�b\nhint a�[31m�31m�b\n'])
    const refused = await run([ODD], terminal)
    expect(refused.stderr).not.toContain('\u001b')
    expect(refused.stderr).not.toContain('\u009b')
  })

  it('is exact in a pipe, and in JSON, which escapes it', async () => {
    expect((await run(['things'], {}, [answer(ODD)])).stdout).toBe(`${ODD}\n`)
    const { stdout } = await run(['things', '--json'], terminal, [answer(ODD)])
    expect(stdout).toContain('"a\\u001b[31m\\u009b31m\\u202eb"')
    expect(JSON.parse(stdout)).toEqual({ name: ODD })
  })
})

describe('refusals', () => {
  it('go to standard error with status 2 for wrong usage, and name the help', async () => {
    const { status, stdout, stderr } = await run(['secret', 'create'])
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toBe('sluice: --name is required\nSee: sluice secret create --help\n')
  })

  it('are one JSON object with --json, also when the command line cannot be parsed', async () => {
    const { status, stdout, stderr } = await run(['secret', 'crate', '--json'])
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(JSON.parse(stderr)).toEqual({
      code: 'usage',
      message: 'unknown command "secret crate"; did you mean secret create?',
    })
  })

  it('name every problem of the configuration with its location, its reason and the allowed values', async () => {
    const problems = [
      { key: 'server.port', source: 'config.yaml:3', reason: '"x" is not a number', allowed: 'a whole number' },
      { key: 'log.level', source: 'SLUICE_LOG_LEVEL', reason: '"loud" is not known', allowed: 'debug, info' },
    ]
    const loadConfig = () => err(problems)
    const forPeople = await run(['secret', 'list'], { loadConfig })
    expect(forPeople.status).toBe(1)
    expect(forPeople.stderr).toContain('config.yaml:3: server.port: "x" is not a number (allowed: a whole number)')
    expect(forPeople.stderr).toContain('SLUICE_LOG_LEVEL: log.level: "loud" is not known (allowed: debug, info)')
    const { stderr } = await run(['secret', 'list', '--json'], { loadConfig })
    expect(JSON.parse(stderr)).toMatchObject({ code: 'configuration', problems })
  })

  it('name the page about them, at a terminal and with --json', async () => {
    const problem = { source: 'config.yaml:3', reason: 'is not known' }
    const helpOf = async (key: string) => {
      const loadConfig = () => err([{ key, ...problem }])
      const { stderr } = await run(['secret', 'list', '--json'], { loadConfig })
      const forPeople = await run(['secret', 'list'], { loadConfig, stderrIsTerminal: true })
      const { help } = JSON.parse(stderr) as { help: string }
      expect(forPeople.stderr).toContain(`\nSee: ${help} on your server\n`)
      expect((await run(['secret', 'list'], { loadConfig })).stderr).not.toContain('See:')
      return help
    }
    expect(await helpOf('server.port')).toBe('/docs/reference/configuration.html#server')
    expect(await helpOf('toString')).toBe('/docs/reference/configuration.html')
    expect(await helpOf('')).toBe('/docs/reference/configuration.html')

    const { stderr } = await run(['token', 'create', '--body', '{"label":"a","label":"b"}', '--json'])
    expect(JSON.parse(stderr)).toMatchObject({ help: '/docs/reference/errors.html#when-a-program-manages-tokens' })
    const failure = { code: 'engine_running', message: 'The engine is running' } as const
    expect(refusalJson(fromChannelFailure(failure))).toEqual({
      ...failure,
      help: '/docs/reference/channels.html#refusals',
    })
  })

  it('name the help of the command where the page of all refusals, which is for programs, says no more', async () => {
    const backups = () => Promise.resolve({ verify: async () => err('this is no backup') } as unknown as Backups)
    const { status, stderr } = await run(['backup', 'verify', '/b.tar'], { backups, stderrIsTerminal: true })
    expect([status, stderr]).toEqual([1, 'sluice: this is no backup\nSee: sluice backup verify --help\n'])
  })

  it('name the help of the command where perhaps no server runs that would show a page', () => {
    const refusal = failure('unavailable', 'port 1935 is in use by another process')
    expect(refusalJson(refusal)).toEqual({ code: 'unavailable', message: 'port 1935 is in use by another process' })
    expect(furtherReading(refusal, 'sluice serve --help')).toBe('See: sluice serve --help')
  })

  it('are one line without a stack for a fault, and --verbose shows the stack', async () => {
    const { status, stderr } = await run(['secret', 'list'])
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'sluice: no store here\n' })
    expect((await run(['secret', 'list', '--verbose'])).stderr).toContain('fakeHost.ts')
    expect(JSON.parse((await run(['secret', 'list', '--json'])).stderr)).toEqual({
      code: 'failed',
      message: 'no store here',
    })
    const closed = Object.assign(new Error("EACCES: permission denied, open '/x.log'"), {
      code: 'EACCES',
      path: '/x.log',
    })
    const { stderr: said } = await run(['secret', 'list'], { openApp: () => Promise.reject(closed) })
    expect(said).toBe('sluice: /x.log may not be used by this user\n')
  })

  it.each([
    [['token', 'create'], '--label is required (or --body)'],
    [['token', 'create', '--label', 'A'], '--stream or --regex is required (or --body)'],
    [
      ['token', 'create', '--label', 'A', '--stream', 's', '--rendition', '480p'],
      '--rendition must be HEIGHT:BITRATE, such as 480:1200000, not "480p"',
    ],
    [['token', 'create', '--body', '{'], '--body is not valid JSON'],
    [['token', 'create', '--body', '{}', '--secure'], '--body is the whole body; leave out --secure'],
    [['token', 'create', '--body', '{}', '--ip', '192.0.2.1'], '--body is the whole body; leave out --ip'],
    [['token', 'create', '--body', '{}', '--bind', '0'], '--body is the whole body; leave out --bind'],
    [['token', 'revoke', '1'], '--jti or --issued-before is required'],
    [
      ['channel', 'create', '--name', 'A', '--audio', '257:en:English', '--audio', 'Deutsch'],
      '--audio must be such as 257:en:English, not "Deutsch"',
    ],
    [['user', 'create', '--email', 'a@example.com', '--password-stdin'], 'standard input is empty'],
  ])('%j is wrong usage: the store is not even opened', async (argv, message) => {
    const { status, stderr } = await run(argv)
    expect(status).toBe(2)
    expect(stderr).toContain(message)
  })

  it('name a repeated property of --body, before the store is opened', async () => {
    const body = '{"label":"a","allowedIpAddresses":["192.0.2.1"],"allowedIpAddresses":[]}'
    const { status, stderr } = await run(['token', 'create', '--body', body])
    expect([status, stderr]).toEqual([1, expect.stringContaining('allowedIpAddresses: comes twice')])
  })

  it('refuse a password of several lines, which would be truncated silently', async () => {
    const argv = ['user', 'create', '--email', 'a@example.com', '--password-stdin']
    expect(await run(argv, { input: 'first line\nsecond line\n' })).toMatchObject({ status: 2 })
  })
})

describe('token sign --key', () => {
  const key = 'ab'.repeat(32)

  it('signs without a store, with the key from the flag or from standard input', async () => {
    const argv = ['token', 'sign', '--parent-id', '8', '--stream', 'studio-1']
    const fromFlag = await run([...argv, '--key', key])
    const fromInput = await run([...argv, '--key', '-', '--json'], { input: `${key}\n` })
    expect(fromFlag).toMatchObject({ status: 0, stderr: '' })
    expect(fromFlag.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    expect(JSON.parse(fromInput.stdout)).toEqual({ token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string })
  })

  it.each([
    [['--origin', '*'], 'allowedOrigins[0]'],
    [['--ip', '192.0.2'], 'allowedIpAddresses[0]'],
    [['--max-viewers', '3'], 'maxViewers'],
  ])('signs nothing that would admit no client: %j', async (flags, field) => {
    const argv = ['token', 'sign', '--parent-id', '8', '--stream', 's', '--key', key]
    const { status, stdout, stderr } = await run([...argv, ...flags])
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain(field)
  })

  it('explains what is wrong with an invalid key', async () => {
    const { status, stderr } = await run(['token', 'sign', '--parent-id', '8', '--stream', 's', '--key', 'short'])
    expect(status).toBe(1)
    expect(stderr).toContain('token must be the 64 lower-case hexadecimal characters of the parent')
  })
})
