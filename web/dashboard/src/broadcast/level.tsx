import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { openAudio } from './audio.ts'
import './level.css'

const text = words.goLive
const STEP_MS = 250
const FLOOR_DECIBELS = -60
const QUIET_DECIBELS = -42
const LOUD_DECIBELS = -3

/** The loudness of audio in decibels below full scale, four times a second; null: nothing was measured yet. */
function useLevel(media: MediaStream | null): number | null {
  const [level, setLevel] = useState<number | null>(null)
  useEffect(() => {
    if (!media || media.getAudioTracks().length === 0) {
      setLevel(null)
      return undefined
    }
    const { context: audio, close } = openAudio()
    // A third of a second, longer than a step: no short tone falls between two.
    const analyser = new AnalyserNode(audio, { fftSize: 16_384 })
    audio.createMediaStreamSource(media).connect(analyser)
    const samples = new Float32Array(analyser.fftSize)
    // The loudest of the last two seconds: short tones and pauses between words would make it flicker.
    let recent: number[] = []
    const timer = setInterval(() => {
      if (audio.state !== 'running') return
      analyser.getFloatTimeDomainData(samples)
      recent = [...recent.slice(-7), decibelsOf(samples)]
      setLevel(Math.max(...recent))
    }, STEP_MS)
    return () => {
      clearInterval(timer)
      close()
    }
  }, [media])
  return level
}

function decibelsOf(samples: Float32Array): number {
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length
  return Math.max(FLOOR_DECIBELS, Math.round(10 * Math.log10(power || 1e-9)))
}

/** A level meter. It says in words when hardly anything is heard, and when it is too loud. */
export function LevelMeter({ media }: { readonly media: MediaStream | null }) {
  const measured = useLevel(media)
  if (!media) return null
  if (media.getAudioTracks().length === 0) return <span class="hint">{text.noAudio}</span>
  const level = measured ?? FLOOR_DECIBELS
  const isQuiet = measured !== null && level < QUIET_DECIBELS
  const isLoud = level > LOUD_DECIBELS
  return (
    <>
      <svg
        class="meter"
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        role="img"
        aria-label={text.level(level)}
        data-level={level}
      >
        <rect class="f-idle" width="100" height="6" />
        <rect
          class={isLoud ? 'f-error' : isQuiet ? 'f-warn' : 'f-ok'}
          width={Math.round(100 * (1 - level / FLOOR_DECIBELS))}
          height="6"
        />
      </svg>
      {isQuiet && <span class="hint">{text.tooQuiet}</span>}
      {isLoud && <span class="hint">{text.tooLoud}</span>}
    </>
  )
}
