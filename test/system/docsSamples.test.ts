import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SAMPLE_SERVER } from '../../src/edge/http/docs/samples.ts'
import { requestOfBlock } from '../../scripts/docs/request.ts'
import { blocksOf, readPages } from '../support/markdown.ts'
import { installedPrograms, isInstalled, SampleGate } from '../support/samplePrograms.ts'

/** The samples of the documentation for other programs, which those programs read here if they are installed. */

interface Sample {
  /** The page and the line. */
  readonly at: string
  readonly code: string
}

const samplesIn = (language: string): Sample[] =>
  readPages().flatMap(({ path, text }) =>
    blocksOf(text)
      .filter((block) => block.language === language)
      .map(({ code, line }) => ({ at: `${path}:${line}`, code })),
  )

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-samples-'))
})
afterAll(() => rmSync(dir, { recursive: true }))

describe('a systemd unit', () => {
  const units = samplesIn('ini')

  /** The unit with a program that exists in place of the installed one. */
  function unitFile(code: string): string {
    const file = join(dir, 'sluice.service')
    writeFileSync(file, code.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
    return file
  }

  /** What systemd says about a unit. */
  function complaints(code: string): string {
    const args = ['verify', '--man=no', unitFile(code)]
    const { stderr, status } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    return status === 0 ? stderr : `ended with ${status}: ${stderr}`
  }

  test('is there, and has only sections, settings and comments', () => {
    expect(units.map(({ at }) => at.split(':')[0])).toEqual(['docs/guides/production.md'])
    for (const { code } of units) {
      const lines = code.split('\n').filter((line) => line !== '')
      expect(lines.filter((line) => !/^(#.*|\[(Unit|Service|Install)\]|[A-Z]\w+=(\S.*)?)$/.test(line))).toEqual([])
    }
  })

  test.skipIf(!isInstalled('systemd-analyze', '--version'))('is accepted by systemd without a warning', () => {
    for (const { code } of units) {
      expect(complaints(code)).toBe('')
      expect(complaints(code.replace('Restart=', 'Restarts='))).toContain("Unknown key 'Restarts'")
    }
  })

  test('is the one of the package', () => {
    expect(units.map(({ code }) => code)).toEqual([readFileSync('packaging/sluice.service', 'utf8')])
  })

  test.skipIf(!isInstalled('systemd-analyze', '--version'))('leaves an attacker little: at most 1.5 of 10', () => {
    const file = unitFile(units.map(({ code }) => code).join(''))
    const exposed = (threshold: number): number | null =>
      spawnSync('systemd-analyze', ['security', '--offline=true', `--threshold=${threshold}`, file]).status
    // In tenths.
    expect([exposed(15), exposed(5)]).toEqual([0, 1])
  })

  test('lets ffmpeg lower its priority', () => {
    const filters = units.flatMap(({ code }) => code.match(/^SystemCallFilter=.*$/gm) ?? [])
    expect(filters).toEqual(['SystemCallFilter=@system-service', 'SystemCallFilter=~@privileged'])
  })
})

describe('a configuration of nginx', () => {
  const samples = samplesIn('nginx')
  const isStream = ({ code }: Sample): boolean => code.startsWith('stream')
  const certificate = (): string => join(dir, 'cert.pem')

  beforeAll(() => {
    const key = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    const files = ['-subj', '/CN=stream.example.com', '-keyout', join(dir, 'key.pem'), '-out', certificate()]
    spawnSync('openssl', [...key, ...files])
  })

  /** What nginx says about a sample; the certificate is that of the test, and it listens on no port. */
  function verdict(sample: Sample): string {
    const code = sample.code
      .replaceAll('/etc/ssl/sluice/', `${dir}/`)
      .replace(/listen \d+/, `listen unix:${dir}/listen`)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${dir}/${of};`)
    const whole = isStream(sample) ? code : `http {\naccess_log off;\n${temporary.join('\n')}\n${code}}`
    writeFileSync(join(dir, 'nginx.conf'), `pid ${dir}/pid;\nevents {}\n${whole}\n`)
    const args = ['-t', '-q', '-p', dir, '-c', join(dir, 'nginx.conf'), '-g', `error_log ${dir}/error.log;`]
    const { stderr, status } = spawnSync('nginx', args, { encoding: 'utf8' })
    // Packages of nginx may leave out the module of TCP, which reads `stream`.
    return status === 0 || stderr.includes('unknown directive "stream"') ? '' : stderr
  }

  test('is there for HTTP below a path, and for RTMP, and each statement ends', () => {
    expect([samples.length, samples.filter((sample) => isStream(sample)).length]).toEqual([2, 1])
    for (const { code } of samples) {
      const lines = code.split('\n').map((line) => line.trim())
      expect(lines.filter((line) => line !== '' && !/^(#.*|[a-z_]+( \S+)*( \{|;)|\})$/.test(line))).toEqual([])
      expect(code.split('{')).toHaveLength(code.split('}').length)
    }
  })

  const canServe = isInstalled('nginx', '-v') && isInstalled('openssl', 'version')
  test.skipIf(!canServe)('is accepted by nginx, if it has the modules', () => {
    for (const sample of samples) {
      expect(existsSync(certificate())).toBe(true)
      expect(verdict(sample)).toBe('')
    }
    const [http] = samples.filter((sample) => !isStream(sample))
    expect(verdict({ at: '', code: (http?.code ?? '').replace('proxy_pass', 'proxy_past') })).toContain('"proxy_past"')
  })
})

describe('a request of a page', () => {
  const requests = samplesIn('http').map(({ at, code }) => ({ at, request: requestOfBlock(code) }))
  const variables = { SECRET: 'secret', CREDENTIAL: 'key:secret', JWT: 'a.b.c', TOKEN_ID: '7', PARENT_ID: '8' }

  test('is sent alike by its sample in each language whose program is installed', async () => {
    const programs = installedPrograms()
    expect(programs.map(({ language }) => language)).toEqual(expect.arrayContaining(['curl', 'JavaScript', 'Python']))
    const gate = await SampleGate.open()
    for (const { at, request } of requests) {
      const env = { ...process.env, ...variables }
      const sent = await Promise.all(programs.map((program) => gate.send(request, program, env, null)))
      const isBasic = request.url.includes('/v2/')
      const authorization = isBasic ? `Basic ${btoa(variables.CREDENTIAL)}` : `Bearer ${variables.SECRET}`
      const filled = (text: string) =>
        text.replaceAll(/\$(\w+)/g, (_all, name: keyof typeof variables) => variables[name])
      const expected = {
        method: request.method,
        url: filled(request.url.slice(SAMPLE_SERVER.length)),
        authorization,
        type: request.json === null ? '' : 'application/json',
        json: request.json === null ? null : JSON.parse(filled(request.json)),
      }
      for (const each of sent) expect([at, each.request]).toEqual([at, expected])
    }
    await gate.close()
  })

  test('that is none stops the build of the pages', () => {
    expect(() => requestOfBlock('FETCH /api/streams')).toThrow('not a request')
    expect(() => requestOfBlock('POST /api/streams\n\n{"a": }')).toThrow()
  })
})
