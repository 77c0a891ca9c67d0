/** A choice of two or three, all in sight. */
export type SegmentedProps<T extends string> = {
  readonly label: string;
  readonly options: readonly (readonly [value: T, name: string])[];
  readonly value: T;
  readonly choose: (value: T) => void;
};

export function Segmented<T extends string>({ label, options, value, choose }: SegmentedProps<T>) {
  return (
    <div class="segmented" role="group" aria-label={label}>
      {options.map(([one, name]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => choose(one)}>
          {name}
        </button>
      ))}
    </div>
  );
}
