import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'

export type Scene = 'concert' | 'harbour' | 'match' | 'studio' | 'talk'

/** H.264 without B-frames, a keyframe a second, and a tone, as an encoder sends it. The camera moves slowly. */
const ENCODE = '-c:v libx264 -preset ultrafast -bf 0 -g 25 -pix_fmt yuv420p -c:a aac -ar 48000 -f flv'.split(' ')
const LOOP_FRAMES = 250

/** Draws a scene and makes ten seconds of video of it. Returns the file. */
export async function film(browser: Browser, folder: string, scene: Scene, kbits: number): Promise<string> {
  const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } })
  const svg = readFileSync(new URL(`scenes/${scene}.svg`, import.meta.url), 'utf8')
  await page.setContent(`<style>body{margin:0}svg{display:block;width:100vw}</style>${svg}`)
  const image = join(folder, `${scene}.png`)
  await page.screenshot({ path: image })
  await page.close()
  const zoom = `zoompan=z='1.04+0.03*sin(2*PI*on/${LOOP_FRAMES})':x='iw/2-iw/zoom/2':d=${LOOP_FRAMES}:s=1280x720:fps=25`
  const file = join(folder, `${scene}.flv`)
  const input = [
    '-loop',
    '1',
    '-i',
    image,
    '-f',
    'lavfi',
    '-i',
    'sine=frequency=330',
    '-vf',
    `${zoom},noise=alls=6:allf=t`,
  ]
  const rate = ['-b:v', `${kbits}k`, '-maxrate', `${kbits}k`, '-bufsize', `${kbits}k`, '-t', '10']
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...input, ...rate, ...ENCODE, file])
  return file
}

/** Pushes a file again and again, without encoding it. */
export function push(file: string, url: string): ChildProcess {
  const args = ['-v', 'error', '-re', '-stream_loop', '-1', '-i', file, '-c', 'copy', '-f', 'flv', url]
  return spawn('ffmpeg', args, { stdio: 'ignore' })
}
