// What each number means, with its unit: the text of the tooltips. One sentence or two each.

export const DEFINITIONS = {
  stepP50:
    "Median duration of the steps. A step is extended over the device work launched in it; its unit adapts to its size.",
  stepP95: "95th percentile of the step durations: 19 of 20 steps were not slower.",
  stepCount: "Number of training steps seen, captured in depth or not.",
  gpuBusy:
    "Union of kernel time inside the steps, divided by the union of the steps, for each GPU. Kernels include communication.",
  inputWait: "Time the training thread waited for its next batch, divided by the host time of the same steps.",
  cpu: "CPU time used, all cores of the host together, as a share of their capacity.",
  gpuUtil: "Share of the sampling interval in which at least one kernel ran, as the driver reports it.",
  phases:
    "Where the host time of the steps went, by phase of the training loop. The phases of a step sum to its host duration.",
  activity:
    "Exclusive partition of the steps captured in depth: each class takes what its union covers and no class before it took. The classes sum to the step durations.",
  classes: {
    kernel: "A compute kernel ran on a device.",
    communication: "A communication kernel ran and no compute kernel did.",
    memcpy: "A device copy ran and neither a compute nor a communication kernel did.",
    memset: "A device fill ran and none of the classes before it did.",
    runtime: "The host was in a device runtime call while the device did nothing.",
    dataloader: "The host fetched or produced a batch and none of the classes before it ran.",
    cpu: "The host ran operators and none of the classes before it ran.",
    other: "None of the classes ran: Python between operators, or time that was not captured.",
  },
  phaseNames: {
    input_wait: "Waiting for the next batch.",
    h2d: "Host calls that copy a batch to a device.",
    forward: "The outermost module's forward call, loss included if it is computed inside.",
    backward: "torch.autograd.backward, or the gradient part of the step.",
    optimizer: "The optimizer's step.",
    compute: "Forward, backward and optimizer in one call, where the framework runs them so.",
    validation: "Evaluation between training steps.",
    other: "The rest of the step: logging, metrics, Python in the loop.",
  },
  kernelTotal: "Sum of the durations of all runs of this kernel.",
  kernelShare: "This kernel's total, divided by the total of all kernels in the list.",
  mean: "Total divided by the number of runs.",
  count: "Number of runs in the capture.",
  hostSelf: "Time on the host inside this operator and outside the operators it calls.",
  hostTotal: "Time on the host inside this operator, with the operators it calls.",
  deviceSelf: "Device time of the work that this operator launched itself.",
  deviceTotal: "Device time of the work launched by this operator and the operators it calls.",
  memcpyTime: "Sum of the durations of the copies in this direction.",
  memcpyBytes: "Bytes moved, where the trace tells them.",
  memcpyRate: "Bytes divided by time, in decimal units per second.",
  launches: "Calls that put work on a device queue.",
  launchLinked: "Launches whose device run was found.",
  launchLatency: "From the end of the launch call to the start of its device run; floored at 0.",
  launchNegative:
    "Pairs whose device run seems to start before the launch ended: the clocks of host and device differ.",
  stepHost: "Duration of the step's marker on the host.",
  stepDuration: "Host duration, extended to the end of the last device work launched inside the step.",
} as const;

/** Why a value can be absent; shown where a dash stands. */
export const NOT_MEASURED = "Not measured in this capture";
