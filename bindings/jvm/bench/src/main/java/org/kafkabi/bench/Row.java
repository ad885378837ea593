package org.kafkabi.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.kafkabi.bench.Meter.Figures;

/** The line of a contender: its figures, compared to its rival's of the same rounds, null if that one was not measured. */
record Row(String name, List<Figures> own, List<Figures> rivals) {
    private static final double RATE_OF_SENDS = 1.5;
    private static final double CPU_OF_SENDS = 0.5;
    private static final double CPU_OF_READS = 0.6;
    private static final double BYTES_OF_VIEWS = 0.1;

    @Override
    public String toString() {
        String figures = String.format(Locale.ROOT, "%-17s %9.0f msg/s%s  %5.2f us CPU, least %.2f%s, compiler %.2f  %7.1f B allocated",
                name, middle(Figures::rate), ratio("", Figures::rate), middle(Figures::micros), least(Figures::micros),
                ratio(bounds(), Figures::micros), middle(Figures::compiling), middle(Figures::bytes));
        return rivals == null || rivals == own ? figures : figures + System.lineSeparator() + "  " + aims();
    }

    private String aims() {
        List<String> aims = new ArrayList<>();
        if (name.endsWith("callback") || name.endsWith("future")) {
            aims.add(aim("throughput", Figures::rate, RATE_OF_SENDS, true));
            aims.add(aim("CPU", Figures::micros, CPU_OF_SENDS, false));
        } else {
            aims.add(aim("CPU", Figures::micros, CPU_OF_READS, false));
        }
        if (name.endsWith("views")) {
            aims.add(aim("allocation", Figures::bytes, BYTES_OF_VIEWS, false));
        }
        return String.join("; ", aims);
    }

    private String aim(String what, ToDoubleFunction<Figures> figure, double limit, boolean least) {
        double ratio = at(ratios(figure), 0.5);
        boolean reached = least ? ratio >= limit : ratio <= limit;
        return String.format(Locale.ROOT, "aim: %s %s x %.1f: %s", what, least ? "at least" : "at most", limit,
                reached ? "reached" : String.format(Locale.ROOT, "missed by %.0f %%", 100 * Math.abs(ratio / limit - 1)));
    }

    private String ratio(String more, ToDoubleFunction<Figures> figure) {
        return rivals == null ? "" : String.format(Locale.ROOT, " (x %.2f%s)", at(ratios(figure), 0.5), more);
    }

    private String bounds() {
        double[] ratios = rivals == null ? new double[1] : ratios(Figures::micros);
        return String.format(Locale.ROOT, ", quartiles %.2f-%.2f", at(ratios, 0.25), at(ratios, 0.75));
    }

    private double[] ratios(ToDoubleFunction<Figures> figure) {
        double[] ratios = new double[own.size()];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = figure.applyAsDouble(own.get(i)) / figure.applyAsDouble(rivals.get(i));
        }
        return ratios;
    }

    private double middle(ToDoubleFunction<Figures> figure) {
        return at(own.stream().mapToDouble(figure).toArray(), 0.5);
    }

    private double least(ToDoubleFunction<Figures> figure) {
        return own.stream().mapToDouble(figure).min().orElse(Double.NaN);
    }

    /** Between two values where the quantile falls between them. */
    private static double at(double[] values, double quantile) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        double place = quantile * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }
}
