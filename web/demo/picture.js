// A test video with a tone, to broadcast without a camera. It shows a clock, so that two screens side by side show the
// delay, and a dot that turns once a second, with a beep when it is at the top.

const WIDTH = 1280
const HEIGHT = 720
const FRAMES = 30

/** A stream of the drawn video and its tone. `stop()` ends both. `scale` shrinks it, for busy machines. */
export function testVideo(label, scale = 1) {
  const canvas = Object.assign(document.createElement('canvas'), { width: WIDTH * scale, height: HEIGHT * scale })
  const context = canvas.getContext('2d', { alpha: false })
  context.scale(scale, scale)
  const paint = () => draw(context, label(), Date.now())
  paint()
  const timer = setInterval(paint, 1000 / FRAMES)
  const media = canvas.captureStream(FRAMES)
  const tone = beep()
  for (const track of tone.media.getAudioTracks()) media.addTrack(track)
  return {
    media,
    stop() {
      clearInterval(timer)
      tone.stop()
    },
  }
}

function draw(context, label, now) {
  const turn = (now % 1000) / 1000
  const hue = (now / 60) % 360
  const sky = context.createLinearGradient(0, 0, WIDTH, HEIGHT)
  sky.addColorStop(0, `hsl(${hue} 45% 22%)`)
  sky.addColorStop(1, `hsl(${hue + 60} 55% 12%)`)
  context.fillStyle = sky
  context.fillRect(0, 0, WIDTH, HEIGHT)
  bars(context)
  dial(context, turn, hue)
  words(context, label, now)
}

function bars(context) {
  const width = WIDTH / 8
  for (let i = 0; i < 8; i++) {
    context.fillStyle = `hsl(${i * 45} 70% 55%)`
    context.fillRect(i * width, HEIGHT - 28, Math.ceil(width), 28)
  }
}

function dial(context, turn, hue) {
  const [x, y, radius] = [1010, 330, 170]
  context.lineWidth = 10
  context.strokeStyle = 'rgb(255 255 255 / 0.18)'
  circle(context, x, y, radius)
  context.stroke()
  const angle = turn * 2 * Math.PI - Math.PI / 2
  context.strokeStyle = `hsl(${hue + 180} 80% 70%)`
  context.beginPath()
  context.arc(x, y, radius, -Math.PI / 2, angle)
  context.stroke()
  context.fillStyle = '#fff'
  circle(context, x + radius * Math.cos(angle), y + radius * Math.sin(angle), 18)
  context.fill()
}

function circle(context, x, y, radius) {
  context.beginPath()
  context.arc(x, y, radius, 0, 2 * Math.PI)
}

function words(context, label, now) {
  const time = new Date(now).toISOString()
  context.fillStyle = '#fff'
  context.font = '600 118px ui-monospace, Menlo, Consolas, monospace'
  context.fillText(time.slice(11, 19), 90, 370)
  context.font = '400 52px ui-monospace, Menlo, Consolas, monospace'
  context.fillStyle = 'rgb(255 255 255 / 0.75)'
  context.fillText(`${time.slice(19, 23)} UTC`, 94, 445)
  context.font = '500 40px system-ui, sans-serif'
  context.fillText(label, 94, 230, 720)
}

function beep() {
  const audio = new AudioContext()
  const target = audio.createMediaStreamDestination()
  const gain = new GainNode(audio, { gain: 0 })
  const oscillator = new OscillatorNode(audio, { frequency: 660 })
  oscillator.connect(gain).connect(target)
  oscillator.start()
  const strike = () => {
    const at = audio.currentTime
    gain.gain.setValueAtTime(0.25, at)
    gain.gain.exponentialRampToValueAtTime(0.0005, at + 0.18)
  }
  let last = 0
  const timer = setInterval(() => {
    const second = Math.floor(Date.now() / 1000)
    if (second !== last) strike()
    last = second
  }, 20)
  return {
    media: target.stream,
    stop() {
      clearInterval(timer)
      void audio.close()
    },
  }
}
