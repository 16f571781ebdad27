import { openAudio } from './audio.ts'

const WIDTH = 1280
const HEIGHT = 720
const MONO = 'ui-monospace, Menlo, Consolas, monospace'

/** Media that may be broadcast. */
export interface Source {
  readonly media: MediaStream
  /** Releases the camera and everything else. */
  stop(): void
}

interface PatternOptions {
  readonly width: number
  readonly height: number
  readonly framesPerSecond: number
  /** The text above the clock. */
  readonly label: () => string
}

/**
 * A test video with a tone, to broadcast without a camera. It shows a clock, so that two screens side by side show the
 * delay, and a dot that turns once a second, with a beep when it is at the top.
 */
export function openTestPattern({ width, height, framesPerSecond, label }: PatternOptions): Source {
  const canvas = Object.assign(document.createElement('canvas'), { width, height })
  const context = canvas.getContext('2d', { alpha: false })
  if (!context) throw new Error('This browser draws no canvas')
  context.scale(width / WIDTH, height / HEIGHT)
  const paint = (): void => draw(context, label(), Date.now())
  paint()
  const timer = setInterval(paint, 1000 / framesPerSecond)
  const media = canvas.captureStream(framesPerSecond)
  const tone = openTone()
  for (const track of tone.media.getAudioTracks()) media.addTrack(track)
  return {
    media,
    stop() {
      clearInterval(timer)
      tone.stop()
      for (const track of media.getTracks()) track.stop()
    },
  }
}

type Canvas = CanvasRenderingContext2D

function draw(context: Canvas, label: string, nowMs: number): void {
  const hue = (nowMs / 60) % 360
  const sky = context.createLinearGradient(0, 0, WIDTH, HEIGHT)
  sky.addColorStop(0, `hsl(${hue} 45% 22%)`)
  sky.addColorStop(1, `hsl(${hue + 60} 55% 12%)`)
  context.fillStyle = sky
  context.fillRect(0, 0, WIDTH, HEIGHT)
  drawBars(context)
  drawDial(context, (nowMs % 1000) / 1000, hue)
  drawTexts(context, label, nowMs)
}

function drawBars(context: Canvas): void {
  const width = WIDTH / 8
  for (let bar = 0; bar < 8; bar++) {
    context.fillStyle = `hsl(${bar * 45} 70% 55%)`
    context.fillRect(bar * width, HEIGHT - 28, Math.ceil(width), 28)
  }
}

/** @param turn 0 to 1 */
function drawDial(context: Canvas, turn: number, hue: number): void {
  const [x, y, radius] = [1010, 330, 170]
  const top = -Math.PI / 2
  const angle = turn * 2 * Math.PI + top
  context.lineWidth = 10
  context.strokeStyle = 'rgb(255 255 255 / 0.18)'
  arc(context, x, y, radius, [0, 2 * Math.PI])
  context.stroke()
  context.strokeStyle = `hsl(${hue + 180} 80% 70%)`
  arc(context, x, y, radius, [top, angle])
  context.stroke()
  context.fillStyle = '#fff'
  arc(context, x + radius * Math.cos(angle), y + radius * Math.sin(angle), 18, [0, 2 * Math.PI])
  context.fill()
}

function arc(context: Canvas, x: number, y: number, radius: number, [from, to]: readonly [number, number]): void {
  context.beginPath()
  context.arc(x, y, radius, from, to)
}

function drawTexts(context: Canvas, label: string, nowMs: number): void {
  const time = new Date(nowMs).toISOString()
  context.fillStyle = '#fff'
  context.font = `600 118px ${MONO}`
  context.fillText(time.slice(11, 19), 90, 370)
  context.font = `400 52px ${MONO}`
  context.fillStyle = 'rgb(255 255 255 / 0.75)'
  context.fillText(`${time.slice(19, 23)} UTC`, 94, 445)
  context.font = '500 40px system-ui, sans-serif'
  context.fillText(label, 94, 230, 720)
}

/** A short tone at the begin of each second. */
function openTone(): Source {
  const { context: audio, close } = openAudio()
  const target = audio.createMediaStreamDestination()
  const gain = new GainNode(audio, { gain: 0 })
  const oscillator = new OscillatorNode(audio, { frequency: 660 })
  oscillator.connect(gain).connect(target)
  oscillator.start()
  let last = 0
  const timer = setInterval(() => {
    const second = Math.floor(Date.now() / 1000)
    if (second !== last) strike(gain.gain, audio.currentTime)
    last = second
  }, 20)
  return {
    media: target.stream,
    stop() {
      clearInterval(timer)
      close()
    },
  }
}

function strike(gain: AudioParam, atSeconds: number): void {
  gain.setValueAtTime(0.25, atSeconds)
  gain.exponentialRampToValueAtTime(0.0005, atSeconds + 0.18)
}
