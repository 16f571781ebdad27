import { existsSync, renameSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { signSubscribeToken } from '../../src/sign.ts'
import { runApp, type RunningApp } from '../support/app.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

let sluice: RunningApp
beforeAll(async () => {
  execFileSync(process.execPath, [at('scripts/build-player.mjs')])
  sluice = await runApp()
})
afterAll(() => sluice.close())

const get = (path: string, headers: Record<string, string> = {}) => fetch(sluice.base + path, { headers })

describe('the player', () => {
  it.each(['/player.js', '/client.js', '/player/hls.js', '/player/hls.light.js', '/player/watch.js'])(
    '%s is a module that pages of every origin may load, compressed and cached',
    async (path) => {
      const answer = await get(path, { 'accept-encoding': 'gzip' })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toContain('text/javascript')
      expect(answer.headers.get('content-encoding')).toBe('gzip')
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
      const etag = answer.headers.get('etag') ?? ''
      expect((await get(path, { 'accept-encoding': 'gzip', 'if-none-match': etag })).status).toBe(304)
      const https = await get(path, { 'accept-encoding': 'gzip, br' })
      expect(https.headers.get('content-encoding')).toBe(path.startsWith('/player/hls.') ? 'gzip' : 'br')
      expect(https.headers.get('etag') === etag).toBe(path.startsWith('/player/hls.'))
      const plain = await get(path, { 'accept-encoding': 'identity' })
      expect(plain.headers.get('content-encoding')).toBe(null)
      const text = await answer.text()
      expect([await plain.text(), await https.text()]).toEqual([text, text])
    },
  )

  it('is small, and loads hls.js from its own folder only when it is needed', async () => {
    const compressed = await get('/player.js', { 'accept-encoding': 'gzip' })
    expect(Number(compressed.headers.get('content-length'))).toBeLessThan(20_000)
    expect(await compressed.text()).toContain('import(`./player/hls.light.js`)')
  })

  it('that is not built is a 503 that says what to do', async () => {
    const [file, away] = [at('build/player/player.js.br'), at('build/player/player.js.br.away')]
    renameSync(file, away)
    onTestFinished(() => renameSync(away, file))
    const answer = await get('/player.js')
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('npm run build:player')])
    expect(existsSync(file)).toBe(false)
  })
})

/** The policies that a browser gets. */
async function policies(stream: string, token?: string): Promise<string[]> {
  const query = token === undefined ? '' : `?${new URLSearchParams({ token }).toString()}`
  const answer = await get(`/watch/${sluice.accountId}/${stream}${query}`)
  expect(answer.status).toBe(200)
  return answer.headers.get('content-security-policy')?.split(', ') ?? []
}

const ancestors = async (stream: string, token?: string): Promise<string[]> =>
  (await policies(stream, token)).map((policy) => /frame-ancestors (.*)$/.exec(policy)?.[1] ?? '')

async function subscribe(body: object): Promise<{ id: number; token: string }> {
  const streams = [{ streamName: 'club' }]
  return (await sluice.call('POST', '/api/subscribe_token', { label: 'test', streams, ...body })).json.data
}

describe('the page at /watch', () => {
  beforeAll(async () => {
    const body = { label: 'test', streams: [{ streamName: 'club' }], subscribeRequiresAuth: true }
    expect((await sluice.call('POST', '/api/publish_token', body)).status).toBe(200)
  })

  it('has a policy without inline code, other hosts and Trusted Types policies', async () => {
    const [policy = ''] = await policies('show')
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /)
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
    expect(policy).not.toMatch(/unsafe|http|data:/)
    const page = await (await get(`/watch/${sluice.accountId}/show`)).text()
    expect(page.replaceAll(sluice.base, '')).not.toMatch(/<script>|<style| style=|\/\//)
    for (const [, named = ''] of page.matchAll(/(?:src|href)="([^"]*)"/g)) {
      const { pathname, search } = new URL(named, 'http://host/watch/a/b')
      expect([named, (await get(pathname + search)).status]).toEqual([named, 200])
    }
  })

  it('is kept by no shared cache while its links have the host of the request, and neither is its oEmbed', async () => {
    const caching = async () => {
      const page = `/watch/${sluice.accountId}/show`
      const asked = [page, `/oembed?url=${encodeURIComponent(sluice.base + page)}`].map((path) => get(path))
      return (await Promise.all(asked)).map(({ headers }) => headers.get('cache-control'))
    }
    expect(await caching()).toEqual(['private, no-cache', 'private, no-cache'])
    expect((await sluice.reload({ server: { publicUrl: 'https://live.example.com' } })).ok).toBe(true)
    onTestFinished(async () => void (await sluice.reload({})))
    expect(await caching()).toEqual(['no-cache', 'no-cache'])
  })

  it('may be embedded anywhere when the stream is open, and nowhere when only a fragment can have its token', async () => {
    expect(await ancestors('show')).toEqual(['*'])
    expect(await ancestors('club')).toEqual(["'none'"])
  })

  it('may be embedded by the sites that its token allows, with the port and scheme of the rule', async () => {
    expect(await ancestors('club', (await subscribe({})).token)).toEqual(['*'])
    const allowedOrigins = [
      'site.test',
      '*.example.com',
      'https://one.test',
      'http://two.test:8000',
      'three.test:81',
      'capacitor://localhost',
    ]
    const { token, id } = await subscribe({ allowedOrigins })
    const expected = [
      'http://site.test:* https://site.test:*',
      'http://*.example.com:* https://*.example.com:*',
      'https://one.test:443',
      'http://two.test:8000',
      'http://three.test:81 https://three.test:81',
      'capacitor://localhost',
    ]
    expect(await ancestors('club', token)).toEqual([expected.join(' ')])
    const options = { token, tokenId: id, streamName: 'club', allowedOrigins: ['four.test'] }
    const narrowed = await ancestors('club', signSubscribeToken(options))
    expect(narrowed).toEqual([expected.join(' '), 'http://four.test:* https://four.test:*'])
  })

  it('may be embedded nowhere with a token that does not open this stream', async () => {
    const disabled = await subscribe({})
    await sluice.call('PUT', `/api/subscribe_token/${disabled.id}`, { isActive: false })
    for (const token of ['f'.repeat(64), disabled.token]) expect(await ancestors('club', token)).toEqual(["'none'"])
    expect(await ancestors('other', (await subscribe({})).token)).toEqual(["'none'"])
    const published = (await sluice.call('GET', '/api/publish_token/list')).json.data[0] as { token: string }
    expect(await ancestors('club', published.token)).toEqual(["'none'"])
  })

  it('shows the refusal inside of the frame when only the place of the viewer is wrong', async () => {
    expect(await ancestors('club', (await subscribe({ allowedIpAddresses: ['198.51.100.0/24'] })).token)).toEqual(['*'])
    expect(await ancestors('club', (await subscribe({ allowedCountries: ['NZ'] })).token)).toEqual(['*'])
  })

  it('binds no address, and writes nothing into the access log', async () => {
    const { token, id } = await subscribe({ bindIpsOnUsage: 1 })
    await ancestors('club', token)
    await ancestors('club', 'f'.repeat(64))
    expect((await sluice.call('GET', `/api/subscribe_token/${id}/bound_ips`)).json.data).toEqual([])
    expect((await sluice.call('GET', '/api/access/log')).json.data).toEqual([])
  })
})

/** What a service that shows previews of links reads. */
async function previewOf(path: string, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const answer = await get(`/watch/${sluice.accountId}/${path}`, headers)
  expect(answer.status).toBe(200)
  const page = await answer.text()
  const tags = [...page.matchAll(/<meta property="([^"]*)" content="([^"]*)" \/>/g)]
  const [, title = ''] = /<title>([^]*?)<\/title>/.exec(page) ?? []
  return { title, ...Object.fromEntries(tags.map(([, name, content]) => [name, content])) }
}

describe('the preview of a link to a stream', () => {
  it('has its name, its address and its player if the stream is open', async () => {
    const url = `${sluice.base}/watch/${sluice.accountId}/show`
    expect(await previewOf('show')).toEqual({
      title: 'show',
      'og:site_name': 'Sluice',
      'og:type': 'video.other',
      'og:title': 'show',
      'og:description': 'Watch the live stream.',
      'og:url': url,
      'og:video:url': url,
      'og:video:type': 'text/html',
      'og:video:width': '1280',
      'og:video:height': '720',
      'twitter:card': 'summary',
    })
  })

  it('says no more of a secured stream than its address does, also with a valid token, which it does not repeat', async () => {
    const { token } = await subscribe({})
    const said = await previewOf(`club?token=${token}`)
    expect(said).toEqual(await previewOf('club'))
    expect(Object.keys(said).filter((name) => /image|video:/.test(name))).toEqual([])
    expect(said['og:description']).toBe('Watch with a link of your own.')
    expect(JSON.stringify(said)).not.toContain(token)
    // An account that does not exist looks like one that has no such stream.
    const answer = await (await get('/watch/nobody/show')).text()
    expect(answer.replaceAll('nobody', sluice.accountId)).toBe(
      await (await get(`/watch/${sluice.accountId}/show`)).text(),
    )
  })

  it('escapes names', async () => {
    const name = `a"><script>alert(1)</script>&$&`
    const said = await previewOf(encodeURIComponent(name))
    expect(said['title']).toBe('a&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;$&amp;')
    expect(said['og:title']).toBe(said['title'])
    expect(said['og:url']).toMatch(/\/a%22%3E%3Cscript%3Ealert\(1\)%3C%2Fscript%3E%26%24%26$/)
  })

  it('changes with the stream, and not without', async () => {
    const path = `/watch/${sluice.accountId}/show`
    const etag = (await get(path)).headers.get('etag') ?? ''
    expect((await get(path, { 'if-none-match': etag })).status).toBe(304)
    expect((await get(`${path}2`, { 'if-none-match': etag })).status).toBe(200)
  })
})

describe('oEmbed', () => {
  const linkTo = (path: string): string => `${sluice.base}/watch/${sluice.accountId}/${path}`
  const asked = async (url: string, more = '') => {
    const answer = await get(`/oembed?url=${encodeURIComponent(url)}${more}`)
    return { status: answer.status, text: await answer.text() }
  }
  const oembed = async (url: string, more?: string) => JSON.parse((await asked(url, more)).text)

  it('answers with the player of an open stream, which its page names', async () => {
    const page = await (await get(`/watch/${sluice.accountId}/show`)).text()
    const [, href = ''] = /<link rel="alternate" type="application\/json\+oembed" href="([^"]*)"/.exec(page) ?? []
    const answer = await fetch(href)
    expect([answer.headers.get('content-type'), answer.headers.get('access-control-allow-origin')]).toEqual([
      expect.stringMatching(/^application\/json/),
      '*',
    ])
    expect(await answer.json()).toEqual({
      type: 'video',
      version: '1.0',
      title: 'show',
      provider_name: 'Sluice',
      provider_url: `${sluice.base}/`,
      width: 640,
      height: 360,
      html: expect.stringContaining(`<iframe src="${linkTo('show')}" title="show" width="640" height="360"`),
    })
  })

  it.each([
    ['&maxwidth=320', [320, 180]],
    ['&maxheight=180', [320, 180]],
    ['&maxwidth=320&maxheight=1000', [320, 180]],
    ['&maxwidth=99999', [1920, 1080]],
    ['&maxwidth=200&format=json', [200, 112]],
    ['&maxwidth=199', [undefined, undefined]],
    ['&maxheight=1', [undefined, undefined]],
  ])('keeps to the size of %s', async (more, [width, height]) => {
    const type = width === undefined ? 'link' : 'video'
    expect(await oembed(linkTo('show'), more)).toMatchObject({ type, ...(width ? { width, height } : {}) })
  })

  it('says no more of a secured stream than its link does, whether it exists or not, and repeats no token', async () => {
    const { token } = await subscribe({})
    const { text } = await asked(linkTo(`club?token=${token}`))
    expect(JSON.parse(text)).toMatchObject({ type: 'link', title: 'club' })
    expect(text).not.toMatch(new RegExp(`html|${token}`))
    expect(await oembed(linkTo(`show?token=${token}#x`))).toEqual(await oembed(linkTo('show')))
    expect(await oembed(`${sluice.base}/watch/nobody/club`)).toMatchObject({ title: 'club' })
    expect((await sluice.call('GET', '/api/access/log')).json.data).toEqual([])
  })

  it('escapes names', async () => {
    const name = `a"><script>alert(1)</script>`
    const { html } = await oembed(linkTo(encodeURIComponent(name)))
    expect(html).toContain(' title="a&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;" ')
    expect(html.match(/[<>]/g)).toEqual(['<', '>', '<', '>'])
  })

  it.each([
    ['another server', () => 'https://other.example.com/watch/a/show', 404],
    ['a server whose name begins so', () => `${sluice.base}.example.com/watch/a/show`, 404],
    ['another page', () => `${sluice.base}/api/docs`, 404],
    ['a part too many', () => linkTo('show/more'), 404],
    ['a path out of /watch', () => linkTo('../../api/docs'), 404],
    ['no encoding', () => linkTo('%zz'), 404],
    ['a control character', () => linkTo('a%00b'), 404],
    ['a control character in the account', () => `${sluice.base}/watch/%00/show`, 404],
    ['no address', () => 'show', 404],
    ['a long address', () => linkTo('x'.repeat(3000)), 404],
  ])('of %s is refused', async (_name, url, status) => {
    expect((await asked(url())).status).toBe(status)
  })

  it.each([
    ['', 400],
    ['?url=a&url=b', 400],
    ['?url=a&maxwidth=0', 400],
    ['?url=a&maxheight=1e3', 400],
    ['?url=a&format=xml', 501],
  ])('refuses %j with %i', async (query, status) => {
    expect((await get(`/oembed${query}`)).status).toBe(status)
  })
})

describe('a wrong address below /watch', () => {
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

  it.each<[name: string, path: string, status: number, title: string]>([
    ['an account alone', 'account', 404, 'There is nothing at this address'],
    ['a part too many', 'account/show/more', 404, 'There is nothing at this address'],
    ['a name of 129 characters', `account/${'x'.repeat(129)}`, 400, 'This address is not valid'],
    ['a control character', 'account/a%00b', 400, 'This address is not valid'],
    ['no encoding', 'account/%zz', 400, 'This address is not valid'],
    ['no UTF-8', 'account/%ff', 400, 'This address is not valid'],
    ['a name of 5000 characters', `account/${'x'.repeat(5000)}`, 414, 'This address is too long'],
  ])('%s is a page with a sentence and its status, also in a frame', async (_name, path, status, title) => {
    const answer = await get(`/watch/${path}`, browser)
    const { headers } = answer
    expect([answer.status, headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*; frame-ancestors \*$/)
    const page = await answer.text()
    expect(page).toContain(`<h1>${title}</h1>`)
    expect(page).toMatch(/<p>[A-Z].+\.<\/p>/)
    expect(page).not.toMatch(/script|xxx/)
  })

  it('is JSON for a program', async () => {
    for (const path of ['account', 'account/%zz', 'account/%ff']) {
      const answer = await get(`/watch/${path}`, { accept: '*/*' })
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
        path,
        path === 'account' ? 404 : 400,
        expect.stringMatching(/^application\/json/),
      ])
    }
  })
})
