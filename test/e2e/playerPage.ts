import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Stage } from './sluice.ts'

/** What a page can see of its players. */
interface Seen {
  states: string[]
  violations: string[]
}

export interface PlayerPageOptions {
  /** No media can reach this page, over UDP and TCP. */
  blocked?: boolean
  /** The port of a proxy through which all media comes. */
  through?: number
  /** The browser plays audio only after a click, as it does by default. */
  needsClick?: boolean
}

/** Builds what `/player.js` and `/watch` serve, unless that is newer than its sources. */
export const buildPlayer = (): void => {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build-player.mjs', import.meta.url))])
}

/** A web site with players: another origin than the server, with a policy as strict as a site can have. */
export class PlayerPage {
  readonly page: Page

  private constructor(page: Page) {
    this.page = page
  }

  /** `players`: the attributes of each. */
  static async open(stage: Stage, players: readonly object[], options: PlayerPageOptions = {}): Promise<PlayerPage> {
    const page = await stage.browser.newPage()
    await page.addInitScript(WATCH_LEAKS)
    if (options.blocked) await page.addInitScript(BLOCK_MEDIA)
    if (options.through !== undefined) await page.addInitScript(sendThrough(options.through))
    if (options.needsClick) await page.addInitScript(NEED_CLICK)
    const query = new URLSearchParams({
      policy: policyFor(stage.server.url),
      body: pageWith(stage.server.url, players),
    })
    await page.goto(`${stage.origin('site.test')}/site?${query.toString()}`)
    const isDefined = () => page.evaluate('customElements.get("sluice-player") !== undefined')
    await expect.poll(isDefined).toBe(true)
    return new PlayerPage(page)
  }

  /** Screenshots of the first player for people, if `SLUICE_SCREENSHOTS` names a folder. */
  async shoot(name: string): Promise<void> {
    const folder = process.env['SLUICE_SCREENSHOTS']
    if (folder === undefined) return
    mkdirSync(folder, { recursive: true })
    await this.page
      .locator('sluice-player')
      .first()
      .screenshot({ path: `${folder}/${name}.png` })
  }

  /** The size of the first player, in pixels. */
  resize(width: number, height: number): Promise<unknown> {
    return this.evaluate(`Object.assign(players()[0].style, { width: '${width}px', height: '${height}px' })`)
  }

  /** The states of a player so far, with the code of the reason. */
  async states(at = 0): Promise<string[]> {
    return (await this.#seen()).states.filter((state) => state.startsWith(`${at} `)).map((state) => state.slice(2))
  }

  /** Resolves when the player is in this state. */
  async reaches(state: string, at = 0): Promise<void> {
    await expect.poll(async () => (await this.states(at)).at(-1)).toBe(state)
  }

  /** Resolves when video moves from now on. */
  async plays(at = 0): Promise<void> {
    const frames = () => this.evaluate<number>(`video(${at}).getVideoPlaybackQuality().totalVideoFrames`)
    const before = await frames()
    await expect.poll(frames).toBeGreaterThan(before + 10)
  }

  /** The text that a viewer reads. */
  text(at = 0): Promise<string> {
    return this.evaluate(
      `[...part(${at}, '.message p, .detail')].map((line) => line.textContent).filter(Boolean).join('|')`,
    )
  }

  async violations(): Promise<string[]> {
    return (await this.#seen()).violations
  }

  evaluate<T>(expression: string): Promise<T> {
    return this.page.evaluate<T>(expression)
  }

  #seen(): Promise<Seen> {
    return this.evaluate<Seen>('seen')
  }
}

const policyFor = (server: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${server}`,
    `connect-src ${server}`,
    'media-src blob:',
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

function pageWith(server: string, players: readonly object[]): string {
  const tags = players.map((attributes) => {
    const written = Object.entries(attributes).map(([name, value]) => `${name}="${String(value)}"`)
    return `<sluice-player ${written.join(' ')}></sluice-player>`
  })
  // Classic, so that it runs before the player's module.
  const script = '<script src="/record.js"></script>'
  return `${script}${tags.join('')}<script type="module" src="${server}/player.js"></script>`
}

/** Counts what a player must not leave behind. */
export const WATCH_LEAKS = `
globalThis.leaks = { peers: [], timers: new Set() }
{
  const { RTCPeerConnection: Peer, setTimeout: set, clearTimeout: clear } = globalThis
  globalThis.RTCPeerConnection = class extends Peer {
    constructor(...parameters) {
      super(...parameters)
      leaks.peers.push(this)
    }
  }
  globalThis.setTimeout = (step, ms) => {
    const timer = set(() => {
      leaks.timers.delete(timer)
      step()
    }, ms)
    leaks.timers.add(timer)
    return timer
  }
  globalThis.clearTimeout = (timer) => {
    leaks.timers.delete(timer)
    clear(timer)
  }
}
`

const BLOCK_MEDIA = `
{
  const Peer = RTCPeerConnection
  globalThis.RTCPeerConnection = class extends Peer {
    setRemoteDescription({ type, sdp }) {
      return super.setRemoteDescription({ type, sdp: sdp.replace(/a=candidate:.*\\r\\n/g, '') })
    }
  }
}
`

const sendThrough = (port: number): string => `
{
  const Peer = RTCPeerConnection
  globalThis.RTCPeerConnection = class extends Peer {
    setRemoteDescription({ type, sdp }) {
      const udp = sdp.replace(/a=candidate:.* tcp .*\\r\\n/gi, '')
      return super.setRemoteDescription({ type, sdp: udp.replace(/(a=candidate:\\S+ \\d udp \\d+ \\S+) \\d+/gi, '$1 ${port}') })
    }
  }
}
`

const NEED_CLICK = `
{
  const { play } = HTMLMediaElement.prototype
  // The page's own flag would count the calls of the test as the user's.
  let hasClicked = false
  addEventListener('pointerdown', () => (hasClicked = true), true)
  HTMLMediaElement.prototype.play = function () {
    if (this.muted || hasClicked) return play.call(this)
    return Promise.reject(new DOMException('play() needs a click', 'NotAllowedError'))
  }
}
`
