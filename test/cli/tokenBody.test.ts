import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { createBody, updateBody } from '../../src/cli/tokenBody.ts'
import { parse } from '../../src/cli/parse.ts'
import { COMMON_FLAGS, PUBLISH_FLAGS, TOKEN_FLAGS } from '../../src/core/tokens/flags.ts'
import { readTokenCreate } from '../../src/core/tokens/create.ts'
import { readTokenUpdate } from '../../src/core/tokens/update.ts'

/** The body that a command line makes, or the message of its refusal. */
async function bodyOf(...argv: string[]): Promise<unknown> {
  const parsed = parse(COMMANDS, argv)
  if (!parsed.ok || parsed.value.kind !== 'run') return parsed.ok ? parsed.value.kind : parsed.error.message
  const made = await (argv[1] === 'create' ? createBody : updateBody)(parsed.value as never)
  return made.ok ? made.value : made.error.data['message']
}

const create = (...flags: string[]) => bodyOf('token', 'create', '--label', 'A', '--stream', 's', ...flags)
const update = (...flags: string[]) => bodyOf('token', 'update', '7', ...flags)

describe('token create', () => {
  it('sets each field of the body that has a flag', async () => {
    const body = await bodyOf(
      ...'token create --label A --stream s --regex c.* --expires 60 --origin example.com --ip 192.0.2.1'.split(' '),
      ...'--max-viewers 9 --recording-days 0'.split(' '),
      ...'--bind 2 --country NL --rendition 480:1200000 --priority=-7 --hls-codecs source --record --no-multisource --end-at-expiry'.split(
        ' ',
      ),
    )
    expect(body).toEqual({
      label: 'A',
      streams: [{ streamName: 's' }, { streamName: 'c.*', isRegex: true }],
      expires: 60,
      allowedOrigins: ['example.com'],
      allowedIpAddresses: ['192.0.2.1'],
      bindIpsOnUsage: 2,
      maxViewers: 9,
      allowedCountries: ['NL'],
      hlsRenditions: [{ height: 480, bitrate: 1_200_000 }],
      priority: -7,
      hlsCodecs: 'source',
      recordingDays: 0,
      record: true,
      multisource: false,
      endAtExpiry: true,
    })
    expect(readTokenCreate('publish', body).ok).toBe(true)
    expect(await create('--tracking-id', 'web')).toMatchObject({ tracking: { trackingId: 'web' } })
  })

  it('has for each flag of tokens the switch that differs from its default', () => {
    const { flags = {} } = COMMANDS.find(({ path }) => path.join(' ') === 'token create') ?? {}
    for (const { byDefault, option } of Object.values(TOKEN_FLAGS)) {
      expect(Object.hasOwn(flags, option.name), option.name).toBe(!byDefault)
      expect(Object.hasOwn(flags, `no-${option.name}`), option.name).toBe(byDefault)
    }
  })
})

describe('token update', () => {
  it('sends nothing but what its flags name', async () => {
    expect(await update('--label', 'B')).toEqual({ label: 'B' })
    expect(await update('--bind', '0', '--deny-country', 'NL')).toEqual({ bindIpsOnUsage: 0, deniedCountries: ['NL'] })
    expect(await update('--priority', 'none')).toEqual({ priority: null })
    expect(await update('--recording-days', 'account')).toEqual({ recordingDays: null })
    expect(await update('--refresh', '--hls-codecs', 'h264')).toEqual({ refreshToken: true, hlsCodecs: 'h264' })
  })

  it('adds and takes away streams', async () => {
    const body = await update('--add-stream', 'a', '--add-regex', 'b.*', '--remove-stream', 'c')
    expect(body).toEqual({
      addTokenStreams: [{ streamName: 'a' }, { streamName: 'b.*', isRegex: true }],
      removeTokenStreams: ['c'],
    })
    expect(readTokenUpdate('publish', body).ok).toBe(true)
  })

  it('empties each list', async () => {
    const body = await update('--no-origin', '--no-ip', '--no-country', '--no-deny-country', '--no-rendition')
    expect(body).toEqual({
      allowedOrigins: [],
      allowedIpAddresses: [],
      allowedCountries: [],
      deniedCountries: [],
      hlsRenditions: [],
    })
    expect(readTokenUpdate('publish', body).ok).toBe(true)
  })

  it.each(Object.entries(TOKEN_FLAGS))('makes %s true and false', async (field, { option: { name } }) => {
    expect(await update(`--${name}`)).toEqual({ [field]: true })
    expect(await update(`--no-${name}`)).toEqual({ [field]: false })
    expect(readTokenUpdate('publish', { [field]: false }).ok).toBe(true)
  })

  it('sets on subscribe tokens what they have', () => {
    for (const field of Object.keys(COMMON_FLAGS)) expect(readTokenUpdate('subscribe', { [field]: true }).ok).toBe(true)
    for (const field of Object.keys(PUBLISH_FLAGS))
      expect(readTokenUpdate('subscribe', { [field]: true }).ok).toBe(false)
  })

  it.each([
    [[], 'there is nothing to change: set a flag, or --body'],
    [['--secure', '--no-secure'], '--secure and --no-secure exclude each other'],
    [['--ip', '192.0.2.1', '--no-ip'], '--ip and --no-ip exclude each other'],
    [['--rendition', '480p'], '--rendition must be HEIGHT:BITRATE, such as 480:1200000, not "480p"'],
    [['--bind', 'two'], '--bind must be a whole number from 0 to 2147483647, not "two"'],
    [['--body', '{}', '--no-ip'], '--body is the whole body; leave out --no-ip'],
    [['--body', '{'], '--body is not valid JSON'],
    [['--expires', '60'], 'token update has no flag --expires'],
  ])('refuses %j', async (flags, message) => {
    expect(await update(...flags)).toEqual(expect.stringContaining(message))
  })

  it('takes the whole body as it is', async () => {
    expect(await update('--body', '{"isActive":false}')).toEqual({ isActive: false })
  })
})
