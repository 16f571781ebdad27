import './plot.css'

/** A small line of recent values, with a sentence that says what it shows. */
export function Spark({ values, sentence }: { readonly values: readonly number[]; readonly sentence: string }) {
  const most = Math.max(1, ...values)
  const step = 600 / Math.max(1, values.length - 1)
  const points = values.map((value, index) => `${(index * step).toFixed(1)} ${(100 - (value / most) * 90).toFixed(1)}`)
  return (
    <svg class="spark" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label={sentence}>
      <path class="p-area f1" d={`M${points.join('L')}L600 100L0 100Z`} />
      <path class="p-line c1" d={`M${points.join('L')}`} />
    </svg>
  )
}
