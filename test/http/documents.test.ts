import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anchorOf, Finder, type Known } from '../../web/docs/find.ts'
import { buildPages } from '../e2e/dashboard/build.ts'
import { runApp, type RunningApp } from '../support/app.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const build = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/build-docs.mjs', ...args], { cwd: repository })

let sluice: RunningApp
let texts: ReadonlyMap<string, string>
beforeAll(async () => {
  await buildPages('docs')
  sluice = await runApp()
  texts = await pagesFrom('')
})
afterAll(() => sluice.close())

const attributes = (page: string, pattern: RegExp): readonly string[] =>
  [...page.matchAll(pattern)].map(([, value = '']) => value)

const linksIn = (page: string): readonly string[] =>
  attributes(page, /(?:href|src)="([^"]+)"/g).filter((address) => !/^[a-z]+:/.test(address))

/** Every file that links lead to, from this one on. */
async function pagesFrom(first: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const waiting = [first]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    const answer = await fetch(`${sluice.base}/docs/${path}`)
    expect([path, answer.status]).toEqual([path, 200])
    const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true
    const text = isPage ? await answer.text() : ''
    found.set(path, text)
    waiting.push(...linksIn(text).map((link) => targetOf(path, link)[0]))
  }
  return found
}

/** The file below `/docs/` that a link of a page leads to, and the anchor in it. */
function targetOf(path: string, link: string): readonly [file: string, anchor: string] {
  const [file = '', anchor = ''] = link.split('#')
  return [file === '' ? path : posix.join(posix.dirname(path), file).replace(/^\.$/, ''), decodeURIComponent(anchor)]
}

/** What people ask, and the page that answers. */
const QUESTIONS = [
  ['How do I broadcast with OBS?', 'guides/obs.html'],
  ['restream to YouTube', 'guides/restream.html'],
  ['why was a client refused', 'guides/tokens.html'],
  ['Unauthorized: StreamName is not valid for token', 'reference/errors.html'],
  ['which ports must be open in the firewall', 'guides/production.html'],
  ["TLS certificate from Let's Encrypt", 'guides/tls.html'],
  ['verify the signature of a webhook', 'guides/webhook-receiver.html'],
  ['embed the player on my page', 'guides/embed-the-player.html'],
  ['limit a token to a country', 'guides/tokens.html'],
  ['restore a backup', 'guides/production.html'],
  ['two nodes with PostgreSQL', 'guides/many-nodes.html'],
  ['delete the data of a viewer', 'guides/privacy.html'],
  ['how do I revoke', 'guides/tokens.html#edit'],
  ['RTMP not connecting', 'reference/rtmp.html#refusals'],
  ['viewers buffering', 'guides/stream-health.html'],
  ['healthcheck', 'guides/kubernetes.html#keep-it-running'],
  ['iframe blocked', 'guides/embed-the-player.html'],
  ['ram needed', 'guides/production.html#size'],
  ['downgrade', 'guides/production.html#roll-back'],
  ['webhook retries', 'explain/delivery.html'],
  ['password protect stream', 'tutorials/first-secured-stream.html'],
  ['remove user', 'reference/command-line.html#user-delete'],
  ['multiple cameras one stream', 'guides/embed-the-player.html#several-cameras-in-one-stream'],
  ['multiple servers', 'guides/many-nodes.html'],
  ['cdn', 'guides/hls-cache.html'],
  ['geo block', 'guides/production.html#load-countries'],
  ['rtmp url', 'guides/rtmp.html'],
  ['update', 'guides/production.html#upgrade'],
  ['413', 'reference/errors.html'],
  ['why 403 ip', 'reference/errors.html'],
  ['403 forbidden', 'reference/errors.html'],
  ['401 unauthorized', 'reference/errors.html'],
  ['rate limit 429', 'reference/sessions.html#limits'],
  ['stream key', 'reference/channels.html#ingests'],
  ['HLS latency too high', 'guides/hls-player.html#low-latency'],
  ['behind nginx', 'guides/reverse-proxy.html'],
  ['cloudflare', 'guides/reverse-proxy.html'],
  ['firewall ports', 'guides/production.html#open-the-ports'],
  ['ssl', 'guides/tls.html'],
  ['docker', 'guides/install.html#container'],
  ['forgot password', 'guides/dashboard.html'],
  ['where are recordings stored', 'reference/recordings.html'],
  ['webhook not arriving', 'guides/webhook-receiver.html'],
  ['max viewers', 'reference/sessions.html#limits'],
  ['kick a viewer', 'reference/sessions.html#end-sessions'],
  ['who is watching', 'reference/sessions.html'],
  ['no audio', 'guides/stream-health.html#audio-silent'],
  ['choppy video', 'guides/stream-health.html#video-gaps'],
  ['cluster', 'guides/many-nodes.html'],
  ['viewers behind a corporate firewall', 'guides/turn.html'],
  ['bandwidth usage', 'reference/analytics.html'],
  ['self signed token', 'guides/self-signed-tokens.html'],
  ['disk full', 'guides/production.html#when-the-disk'],
  ['sealing key lost', 'guides/production.html#change-the-sealing-key'],
  ['OBS multitrack', 'guides/rtmp.html'],
  ['upgrade', 'guides/production.html#upgrade'],
  ['my viewers see a black screen', 'guides/stream-health.html#keyframe-interval'],
  ['how can people watch on their phone', 'guides/hls-player.html'],
  ['put the video on my wordpress site', 'guides/embed-the-player.html'],
  ['how many viewers can one server handle', 'reference/performance.html'],
  ['can I make a private stream with a password', 'tutorials/first-secured-stream.html'],
  ['how do I save the stream to disk as mp4', 'reference/recordings.html'],
  ['stream my IP camera', 'guides/cameras.html'],
  ['what happens when the server restarts during a broadcast', 'guides/production.html#upgrade'],
  ['change the port 8080', 'guides/production.html#open-the-ports'],
  ['where is the log file', 'reference/logs.html'],
  ['how do I delete everything and start over', 'guides/install.html#clone'],
  ['add another admin for my colleague', 'guides/dashboard.html#give-each-person-a-role'],
  ['stop someone from sharing the link', 'guides/self-signed-tokens.html#bind'],
  ['schedule a show every monday', 'reference/schedulers.html'],
  ['which browsers are supported', 'reference/compatibility.html'],
  ['how to get notified when a stream starts', 'reference/events.html'],
  ['count how many people watched yesterday', 'reference/analytics.html#audience'],
  ['delete old recordings', 'reference/recordings.html#delete-old-recordings'],
  ['ffmpeg not found', 'guides/install.html#ffmpeg'],
  ['ip whitelist', 'guides/tokens.html#limit-where'],
  ['two factor', 'guides/dashboard.html#passkeys'],
  ['dark mode', 'guides/dashboard.html#choose'],
  ['hardware requirements', 'guides/production.html#size'],
  ['license', 'guides/install.html'],
  ['raspberry pi', 'guides/install.html'],
  ['scheduled stream', 'reference/schedulers.html'],
  ['statistics', 'reference/analytics.html'],
  ['stuttering', 'guides/stream-health.html'],
  ['subtitles', 'guides/embed-the-player.html'],
  ['transcoding', 'reference/engines.html'],
  ['recodring', 'reference/recordings.html'],
  ['certifcate', 'guides/tls.html'],
  ['tokn expired', 'reference/tokens.html#when-it-expires'],
  ['disk is full', 'guides/production.html#when-the-disk'],
  ['lets encrypt', 'guides/tls.html#lets'],
  ['letsencrypt', 'guides/tls.html#lets'],
  ['limit number of viewers', 'guides/tokens.html#limit-how-many'],
  ['failover backup encoder', 'reference/publishing-parameters.html#spares'],
  ['stream freezes', 'guides/stream-health.html'],
  ['pixelated picture', 'guides/stream-health.html'],
  ['low fps', 'guides/stream-health.html#frame-rate'],
  ['image when the stream is offline', 'reference/channels.html'],
  ['unique viewers per day', 'reference/analytics.html'],
  ['player in react', 'guides/embed-the-player.html'],
  ['javascript sdk', 'guides/client-library.html'],
  ['reset secret', 'reference/command-line.html#secret-refresh'],
  ['Token läuft ab', 'reference/tokens.html#when-it-expires'],
  ['passwort vergessen', 'guides/dashboard.html#a-forgotten-password'],
  ['ffmpeg nicht gefunden', 'guides/install.html#ffmpeg'],
  ['alte Aufnahmen löschen', 'reference/recordings.html#delete-old-recordings'],
  ['kein Ton', 'guides/stream-health.html#audio-silent'],
  ['Zuschauer begrenzen', 'guides/tokens.html#limit-how-many'],
  ['Datenschutz', 'guides/privacy.html'],
  ['Festplatte voll', 'guides/production.html#when-the-disk'],
  ['Sprache aendern', 'guides/dashboard.html#choose'],
  ['mehrere Server', 'guides/many-nodes.html'],
] as const

describe('the documentation at /docs/', () => {
  it('has every page of docs/, reached by links', () => {
    const written = readdirSync(`${repository}docs`, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.md'),
    )
    const wanted = written.map((path) =>
      path.replaceAll('\\', '/').replace(/\.md$/, '.html').replace('README.html', 'index.html'),
    )
    expect(wanted.filter((path) => !texts.has(path))).toEqual([])
  })

  it.each(['/api/publish_token/none', '/api/webhooks/7/deliveries/none?limit=0', '/v2/channels/none', '/nothing'])(
    'has the page that a refusal of %s leads to, also behind a prefix',
    async (path) => {
      const refused = await sluice.call('GET', path)
      expect(refused.status).toBeGreaterThanOrEqual(400)
      const [, target = ''] = refused.headers.get('link')?.match(/^<(.+)>; rel="help"$/) ?? []
      const help = new URL(target, `https://proxy.example/media${path}`)
      const [, page = ''] = help.pathname.match(/^\/media\/docs\/(.+)$/) ?? []
      expect(texts.get(page)).toContain(`id="${help.hash.slice(1)}"`)
    },
  )

  it('has no link to an anchor that is not there', () => {
    const broken = [...texts].flatMap(([path, page]) =>
      linksIn(page)
        .filter((link) => {
          const [file, anchor] = targetOf(path, link)
          return anchor !== '' && !texts.get(file)?.includes(` id="${anchor}"`)
        })
        .map((link) => `${path}: ${link}`),
    )
    expect(broken).toEqual([])
  })

  it('has nothing inline, and a policy that allows nothing else', async () => {
    for (const page of texts.values()) expect(page).not.toMatch(/<script>|<style| style=|<[^>]* on\w+=/)
    const policy = (await fetch(`${sluice.base}/docs/`)).headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(policy).not.toMatch(/unsafe|http|\*|sha/)
  })

  it('has a search that answers what operators ask within three results', async () => {
    const finder = new Finder((await (await fetch(`${sluice.base}/docs/assets/search.json`)).json()) as Known[])
    const missed = QUESTIONS.flatMap(([question, answer]) => {
      const found = finder.find(question).slice(0, 3)
      return found.some(({ address }) => address.startsWith(answer))
        ? []
        : [[question, found.map(({ address }) => address)]]
    })
    expect(missed).toEqual([])
  })

  it('has a search that leads to parts that are there', async () => {
    const known = (await (await fetch(`${sluice.base}/docs/assets/search.json`)).json()) as Known[]
    const missing = known.flatMap(([, page, [, ...parts]]) => {
      const there = new Set(attributes(texts.get(page) ?? '', / id="([^"]+)"/g))
      return parts
        .map(([heading, , anchor = anchorOf(heading)]) => anchor)
        .filter((anchor) => !there.has(anchor))
        .map((anchor) => `${page}#${anchor}`)
    })
    expect(missing).toEqual([])
    expect(known.flatMap(([, , parts]) => parts).length).toBeGreaterThan(500)
  })

  it('leads from /docs to its first page, and needs no .html in an address', async () => {
    expect((await fetch(`${sluice.base}/docs`)).url).toBe(`${sluice.base}/docs/`)
    expect(await (await fetch(`${sluice.base}/docs/guides/obs`)).text()).toContain('Broadcast from OBS')
    expect((await fetch(`${sluice.base}/docs/guides/nothing`)).status).toBe(404)
  })

  it('can be written as plain files for another web server', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-documents-'))
    build('--to', folder)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    expect(files.filter((path) => path.endsWith('.br'))).toEqual([])
    expect(readFileSync(join(folder, 'guides/obs.html'), 'utf8')).toContain('Broadcast from OBS')
    rmSync(folder, { recursive: true })
  })
})
