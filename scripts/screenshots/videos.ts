import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'

export type Scene = 'concert' | 'harbour' | 'match' | 'studio' | 'talk'

/** H.264 of a constant bitrate without B-frames, a keyframe a second, and a tone, as a publisher sends it. */
const VIDEO = '-c:v libx264 -preset ultrafast -x264-params nal-hrd=cbr:force-cfr=1 -bf 0 -g 25 -pix_fmt yuv420p'
const ENCODE = `${VIDEO} -c:a aac -ar 48000 -f flv`.split(' ')
/** The camera moves forth and back in this time. */
const LOOP_SECONDS = 4

/** Draws a scene and makes a short video of it. Returns the file. */
export async function film(browser: Browser, folder: string, scene: Scene, kbits: number): Promise<string> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
  const svg = readFileSync(new URL(`scenes/${scene}.svg`, import.meta.url), 'utf8')
  await page.setContent(`<style>body{margin:0}svg{display:block;width:100vw}</style>${svg}`)
  const image = join(folder, `${scene}.png`)
  await page.screenshot({ path: image })
  await page.close()
  const frames = 25 * LOOP_SECONDS
  const zoom = `zoompan=z='1.04+0.03*sin(2*PI*on/${frames})':x='iw/2-iw/zoom/2':d=${frames}:s=1280x720:fps=25`
  const file = join(folder, `${scene}.flv`)
  const input = ['-loop', '1', '-i', image, '-f', 'lavfi', '-i', 'sine=frequency=330', '-vf', zoom]
  const rate = ['-b:v', `${kbits}k`, '-maxrate', `${kbits}k`, '-bufsize', `${kbits}k`, '-t', String(LOOP_SECONDS)]
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, ...rate, ...ENCODE, file])
  return file
}

/** Pushes a file again and again, without encoding it. */
export function push(file: string, url: string): ChildProcess {
  const args = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', file, '-c', 'copy', '-f', 'flv', url]
  return spawn('ffmpeg', args, { stdio: 'ignore' })
}
