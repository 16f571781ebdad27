import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { MAX_FILE_BYTES } from '../../src/config/file.ts'
import { type ConfigSources, loadConfig, originOf } from '../../src/config/load.ts'
import { sealingKeyFile, storageUrl } from '../../src/config/paths.ts'
import { type ConfigProblem, formatConfigProblem } from '../../src/config/problem.ts'
import type { Config } from '../../src/config/schema.ts'

const directory = mkdtempSync(join(tmpdir(), 'sluice-config-'))
afterAll(() => rmSync(directory, { recursive: true }))

let files = 0
function fileWith(text: string | Uint8Array): string {
  const file = join(directory, `${++files}.yaml`)
  writeFileSync(file, text)
  return file
}

function load(sources: Partial<ConfigSources>): Config {
  const config = loadConfig({ directory, env: {}, ...sources })
  if (!config.ok) throw new Error(config.error.map(formatConfigProblem).join('\n'))
  return config.value
}

function problems(sources: Partial<ConfigSources>): ConfigProblem[] {
  const config = loadConfig({ directory, env: {}, ...sources })
  return config.ok ? [] : config.error
}

const problemOf = (yaml: string): ConfigProblem => {
  const [first, ...others] = problems({ file: fileWith(yaml) })
  expect(others).toEqual([])
  return first ?? expect.fail('there is no problem')
}

describe('precedence', () => {
  const file = () => fileWith('server:\n  host: 10.0.0.1\n  port: 1001\n  bodyLimitBytes: 2001\n')
  const env = { SLUICE_SERVER_PORT: '1002', SLUICE_SERVER_BODY_LIMIT_BYTES: '2002' }

  test('the file replaces defaults, the environment the file, the command line the environment', () => {
    const { server } = load({ file: file(), env, flags: { server: { bodyLimitBytes: 2003 } } })
    expect(server).toMatchObject({ host: '10.0.0.1', port: 1002, bodyLimitBytes: 2003, shutdownGraceSeconds: 10 })
  })

  test('the origin of each value is on record: line, variable, command line, or none for a default', () => {
    const named = file()
    const config = load({ file: named, env, flags: { server: { bodyLimitBytes: 2003 } } })
    const origins = ['host', 'port', 'bodyLimitBytes', 'publicUrl'].map((key) => originOf(config, `server.${key}`))
    expect(origins).toEqual([
      { kind: 'file', name: `${named}:2` },
      { kind: 'environment', name: 'SLUICE_SERVER_PORT' },
      { kind: 'flag', name: 'command line' },
      null,
    ])
  })

  test('SLUICE_CONFIG names the file, and an argument goes before it', () => {
    expect(load({ env: { SLUICE_CONFIG: file() } }).server.port).toBe(1001)
    const other = fileWith('server: {port: 7}')
    expect(load({ file: other, env: { SLUICE_CONFIG: file() } }).server.port).toBe(7)
  })

  test('config.yaml is read if it exists and no other file is named', () => {
    const home = mkdtempSync(join(directory, 'home-'))
    expect(load({ directory: home }).server.port).toBe(8080)
    writeFileSync(join(home, 'config.yaml'), 'server: {port: 8}')
    expect(load({ directory: home }).server.port).toBe(8)
    expect(load({ directory: home, env: { SLUICE_CONFIG: file() } }).server.port).toBe(1001)
  })

  test('a wrong value is a problem even where a later source replaces it', () => {
    const bad = fileWith('server: {port: none}')
    expect(problems({ file: bad, env: { SLUICE_SERVER_PORT: '1' } })).toHaveLength(1)
  })
})

describe('the configuration', () => {
  test('cannot be changed, down to the items of its lists', () => {
    const config = load({ env: { SLUICE_SERVER_TRUSTED_PROXIES: '10.0.0.0/8' } })
    expect(Object.isFrozen(config.access.log)).toBe(true)
    expect(() => (config.server.trustedProxies as string[]).push('::1')).toThrow(TypeError)
    expect(() => Object.assign(config.server, { port: 1 })).toThrow(TypeError)
  })

  test('does not share a list with its source', () => {
    const trustedProxies = ['10.0.0.0/8']
    const config = load({ flags: { server: { trustedProxies } } })
    trustedProxies.push('0.0.0.0/0')
    expect(config.server.trustedProxies).toEqual(['10.0.0.0/8'])
  })

  test('puts the database and the sealing key into the data directory by default', () => {
    const config = load({ flags: { data: { dir: '/srv/sluice' } } })
    expect(storageUrl(config)).toBe('/srv/sluice/sluice.db')
    expect(sealingKeyFile(config)).toBe('/srv/sluice/sealing.key')
    expect(storageUrl(load({ flags: { storage: { url: 'postgres://db/sluice' } } }))).toBe('postgres://db/sluice')
  })
})

describe('problems', () => {
  test('are all reported at once, each with its location', () => {
    const file = fileWith('server:\n  port: 99999\n  hots: a\nlog:\n  level: loud\n')
    const found = problems({ file, env: { SLUICE_AUDIT_RETENTION_DAYS: '0' }, flags: { data: { dir: '' } } })
    expect(found.map(({ key, source }) => [key, source.replace(file, 'file')])).toEqual([
      ['server.hots', 'file:3'],
      ['server.port', 'file:2'],
      ['log.level', 'file:5'],
      ['audit.retentionDays', 'SLUICE_AUDIT_RETENTION_DAYS'],
      ['data.dir', 'command line'],
    ])
  })

  test('name the allowed values', () => {
    expect(problemOf('server: {port: 70000}').allowed).toBe('a whole number from 0 to 65535')
    expect(formatConfigProblem(problemOf('log: {format: xml}'))).toMatch(
      /"xml" is not known \(allowed: json, pretty\)$/,
    )
  })

  test('offers the variable of a section for a name without it', () => {
    const [problem] = problems({ env: { SLUICE_PORT: '8081' } })
    expect(problem?.reason).toMatch(/^is not known; did you mean SLUICE_SERVER_PORT/)
  })

  test('suggest the intended name', () => {
    expect(problemOf('sever: {}').reason).toBe('is not known; did you mean server?')
    expect(problemOf('server: {prot: 1}').reason).toBe('is not known; did you mean port?')
    const [problem] = problems({ env: { SLUICE_SERVER_TRUSTED_PROXY: '::1' } })
    expect(problem?.reason).toBe('is not known; did you mean SLUICE_SERVER_TRUSTED_PROXIES?')
  })

  test.each([
    ['a key written twice', 'server: {port: 1}\nserver: {port: 2}', 'is written twice'],
    ['a key of a section written twice', 'server: {port: 1, port: 1}', 'is written twice'],
    ['text for a number', 'server: {port: "80"}', 'is text, not a number'],
    ['a number for text', 'data: {dir: 7}', 'is the number 7, not text (put it in quotes)'],
    ['a host of several without a name', 'storage: {url: "postgres://u@a,,b/s"}', 'is not a URL'],
    ['a port that is none', 'storage: {url: "postgres://u@a:1,b:x/s"}', 'is not a URL'],
    [
      'a wish for a standby',
      'storage: {url: "postgres://a,b/s?target_session_attrs=standby"}',
      'has a target_session_attrs other than read-write',
    ],
    ['a fraction for a whole number', 'server: {port: 1.5}', '1.5 is not a whole number'],
    ['not a number at all', 'server: {port: .nan}', 'NaN is not a whole number'],
    ['a share above one', 'access: {log: {refusalRate: 1.01}}', '1.01 is out of range'],
    ['a list for text', 'data: {dir: [a]}', 'is a list, not text'],
    ['text for a list', 'server: {trustedProxies: ::1}', 'is text, not a list'],
    ['a key without a value', 'server: {port: }', 'is empty, not a number'],
    ['text for a section', 'server: here', 'is text, not a section'],
    ['a section for a key', 'server: {port: {a: 1}}', 'is a section, not a number'],
    ['an alias', 'log: {level: &x info}\ndata: {dir: *x}', 'is an alias, not text (put it in quotes)'],
    ['a NUL', 'data: {dir: "a\\0b"}', '"a\\u0000b" contains a control character'],
    ['a network that is too narrow', 'server: {trustedProxies: [10.0.0.0/33]}', '"10.0.0.0/33" has a prefix'],
    ['an address with a zone', 'server: {trustedProxies: ["fe80::1%lo"]}', 'is not an address or a network'],
    ['a short sealing key', 'secrets: {sealingKey: c2hvcnQ=}', 'is not the base64 of 32 bytes'],
    ['a name out of the language', 'constructor: {}', 'is not known'],
    ['a list instead of keys', '- server', 'is not a list of keys'],
    ['two documents', 'server: {port: 1}\n---\nserver: {port: 2}', 'Source contains multiple documents'],
    ['a tag', 'server: !!port {port: 1}', 'Unresolved tag'],
    ['broken YAML', 'server: [', ''],
  ])('name %s', (_, yaml, reason) => {
    expect(problemOf(yaml).reason).toContain(reason)
  })

  test.each([
    ['SLUICE_SERVER_PORT', ''],
    ['SLUICE_SERVER_PORT', '0x50'],
    ['SLUICE_SERVER_PORT', ' 80'],
    ['SLUICE_ACCESS_LOG_REFUSAL_RATE', '1e-1'],
    ['SLUICE_SERVER_TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2'],
    ['SLUICE_SERVER_HOST', 'host:80'],
    ['SLUICE_STORAGE_URL', 'mysql://db'],
  ])('name the variable %s=%j', (name, value) => {
    expect(problems({ env: { [name]: value } })).toMatchObject([{ source: name }])
  })

  test('of a file that is missing, too large, binary or a directory name the file', () => {
    const large = fileWith(`# ${'x'.repeat(MAX_FILE_BYTES)}`)
    const binary = fileWith(Buffer.from([0x61, 0x3a, 0xff, 0xfe]))
    for (const file of [join(directory, 'none.yaml'), large, binary, directory]) {
      expect(problems({ file })).toMatchObject([{ key: '', source: file }])
    }
  })

  test.each([
    ['as a number', 'metrics: {secret: 12345678901234567890}'],
    ['too short', 'metrics: {secret: 12345678901x}'],
    ['as a broken alias', 'metrics: {secret: *12345678901x}'],
    ['as a tag', 'metrics: {secret: !12345678901x}'],
    ['in a URL', 'store: {url: "postgres://u:12345678901@h:port/"}'],
  ])('never show a secret: %s', (_, yaml) => {
    expect(JSON.stringify(problemOf(yaml))).not.toContain('12345678901')
  })
})

test('an empty file is refused, since a full disk or an editor that was ended leaves one', () => {
  expect(problemOf('').reason).toMatch(/^is empty, as after a write that was broken off/)
})

describe('valid input', () => {
  test.each([
    ['comments', '# server:\n'],
    ['a section whose keys are commented out', 'server:\n# port: 1\n'],
  ])('%s in the file means the defaults', (_, yaml) => {
    expect(load({ file: fileWith(yaml) })).toEqual(load({}))
  })

  test('lists in the environment are separated by commas, and an empty one is empty', () => {
    const proxies = (text: string) => load({ env: { SLUICE_SERVER_TRUSTED_PROXIES: text } }).server.trustedProxies
    expect(proxies('10.0.0.0/8, 2001:db8::/32')).toEqual(['10.0.0.0/8', '2001:db8::/32'])
    expect(proxies('')).toEqual([])
  })

  test('variables that describe services called sluice and sluice-rtmp are ignored, which would be a port otherwise', () => {
    const env = {
      SLUICE_SERVICE_HOST: '10.0.0.7',
      SLUICE_SERVICE_PORT_HTTP: '80',
      SLUICE_PORT: 'tcp://10.0.0.7:80',
      SLUICE_RTMP_PORT: 'tcp://10.0.0.8:1935',
      SLUICE_WEBRTC_PORT: 'udp://10.0.0.9:8081',
      SLUICE_PORT_80_TCP: 'tcp://10.0.0.7:80',
      SLUICE_PORT_80_TCP_ADDR: '10.0.0.7',
    }
    expect(load({ env })).toEqual(load({}))
    expect(problems({ env: { SLUICE_PORT: '80' } })).toHaveLength(1)
  })
})
