import type { Line } from './plot.tsx'
import './plot.css'

/** One line of a plot's legend. */
export const Legend = ({ colour, children }: { readonly colour: 1 | 2; readonly children: string }) => (
  <li>
    <svg viewBox="0 0 16 10" aria-hidden="true">
      <path class={`p-line c${colour}`} d="M0 5h16" />
    </svg>
    {children}
  </li>
)

/** The legend of a plot with these lines. */
export const Legends = ({ lines }: { readonly lines: readonly Pick<Line, 'label' | 'colour'>[] }) => (
  <ul class="legend">
    {lines.map(({ label, colour }) => (
      <Legend key={label} colour={colour}>
        {label}
      </Legend>
    ))}
  </ul>
)
