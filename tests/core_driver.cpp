// Runs the core without Python, on whatever processor or emulator it was compiled for: reads a model and a packed
// chunk as 32-bit words from a file, samples, runs both passes, and writes what came out.
//
//     core_driver IN OUT
#include <cstdio>
#include <vector>

#include "../assay/engine/native/core/core.cpp"

static std::FILE* in;
static std::FILE* out;

template <class T>
static std::vector<T> read(size_t count) {
    std::vector<T> values(count);
    if (std::fread(values.data(), sizeof(T), count, in) != count) throw std::runtime_error("the input is too short");
    return values;
}
template <class T>
static std::vector<T> read() {
    return read<T>(read<int32_t>(1)[0]);
}
static void write(const void* data, size_t words) { std::fwrite(data, 4, words, out); }

static void done(Core* core, int32_t answer) {
    if (answer != DONE) throw std::runtime_error(assay_error(core));
    while ((answer = assay_wait(core, 1000)) == RUNNING) {}
    if (answer != DONE) throw std::runtime_error(assay_error(core));
}

int main(int, char** names) {
    in = std::fopen(names[1], "rb"), out = std::fopen(names[2], "wb");
    Shape shape;
    auto raw = read<int32_t>(sizeof shape / 4);
    std::memcpy(&shape, raw.data(), sizeof shape);
    Core* core = assay_new(&shape, 2);

    int matrices = 9 * shape.layers + 3;
    std::vector<std::vector<float>> weights, gradients;
    std::vector<const float*> weight_table;
    std::vector<float*> gradient_table;
    for (int i = 0; i < matrices + 2; i++) weights.push_back(read<float>());
    for (int i = 0; i < matrices; i++) gradients.emplace_back(weights[i].size(), 0.0f);
    for (auto& w : weights) weight_table.push_back(w.empty() ? nullptr : w.data());
    for (auto& g : gradients) gradient_table.push_back(g.empty() ? nullptr : g.data());
    done(core, assay_take_weights(core, weight_table.data()));
    if (assay_take_gradients(core, gradient_table.data()) != DONE) return 1;

    // prompts are the contexts, which have `stem` tokens in common; each writes `count` answers of `length` tokens
    auto sizes = read<int32_t>(3);
    int count = sizes[0], length = sizes[1], stem = sizes[2];
    auto prompts = read<int32_t>(), at32 = read<int32_t>();
    auto u = read<double>(size_t(count) * (at32.size() - 1) * length);
    std::vector<int64_t> at(at32.begin(), at32.end()), tokens_at;
    std::vector<int32_t> prompt_of, begins, max_new, may_stop, ids(u.size()), written, finish;
    std::vector<Sampling> how;
    int longest = 0;
    for (size_t p = 0; p + 1 < at.size(); p++)
        for (int i = 0; i < count; i++) {
            prompt_of.push_back(int(p)), begins.push_back(int(at[p + 1] - at[p])), max_new.push_back(length), may_stop.push_back(0);
            how.push_back(Sampling{1.0f, 0, 0, shape.vocab, 1.0f, 0.0f, -1});
            tokens_at.push_back(int64_t(tokens_at.size()) * length);
            longest = std::max(longest, int(at[p + 1] - at[p]) + length);
        }
    tokens_at.push_back(int64_t(ids.size()));
    written.resize(prompt_of.size()), finish.resize(prompt_of.size());
    std::vector<float> old(ids.size()), mu(ids.size()), spread(ids.size());
    std::vector<uint8_t> ends(shape.vocab, 0);
    Pass* pass = assay_pass_new(core);
    std::vector<int32_t> first(size_t(stem), 0), piece_size(at.size() - 1, stem);
    std::vector<int64_t> piece_at;
    for (size_t p = 0; p < at.size(); p++) piece_at.push_back(int64_t(p));
    float* kept = nullptr;
    if (stem) {
        int32_t begins_at[] = {0, stem}, no_rows[] = {0, 0};
        for (int t = 0; t < stem; t++) first[t] = t;
        PackedArrays alone{stem, 1, 0, 0, 0, prompts.data(), first.data(), begins_at, no_rows, nullptr, nullptr,
                           nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
        done(core, assay_prefill(core, pass, &alone, &kept));
    }
    std::vector<const float*> pieces(at.size() - 1, kept);
    Requests requests{int(prompt_of.size()), int(at.size()) - 1, longest, 3, 64, prompts.data(), at.data(),
                      prompt_of.data(), begins.data(), max_new.data(), how.data(), nullptr, may_stop.data(), tokens_at.data(),
                      u.data(), ends.data(), nullptr, ids.data(), old.data(), mu.data(), spread.data(), written.data(),
                      finish.data()};
    if (stem) requests.piece_at = piece_at.data(), requests.pieces = pieces.data(), requests.piece_size = piece_size.data();
    done(core, assay_sample(core, &requests));
    assay_free_rows(kept);

    // a chunk of those answers, behind the stem if there is one
    std::vector<int32_t> all, positions, context_at{0}, stem_of, row_at{0}, start, own, predict;
    auto add = [&](size_t p, int from, int to, int behind) {
        for (int t = from; t < to; t++) all.push_back(prompts[at[p] + t]), positions.push_back(t);
        context_at.push_back(int32_t(all.size())), stem_of.push_back(behind);
    };
    if (stem) add(0, 0, stem, -1), row_at.push_back(0);
    for (size_t p = 0; p + 1 < at.size(); p++) add(p, stem, int(at[p + 1] - at[p]), stem ? 0 : -1);
    for (size_t r = 0; r < prompt_of.size(); r++) {
        int p = prompt_of[r], size = int(at[p + 1] - at[p]);
        start.push_back(int32_t(all.size())), own.push_back(length - 1);
        for (int t = 0; t < length; t++) {
            predict.push_back(t ? start.back() + t - 1 : context_at[p + (stem ? 2 : 1)] - 1);
            if (t + 1 < length) all.push_back(ids[r * length + t]), positions.push_back(size + t);
        }
        if (int(r + 1) % count == 0) row_at.push_back(int32_t(r + 1));
    }
    std::vector<float> tau(ids.size(), 1.0f), logp(ids.size()), entropy(ids.size());
    PackedArrays packed{int32_t(all.size()), int32_t(stem_of.size()), int32_t(start.size()), int32_t(ids.size()), 0,
                        all.data(), positions.data(), context_at.data(), row_at.data(), start.data(), own.data(),
                        predict.data(), ids.data(), nullptr, tau.data(), nullptr, nullptr, stem_of.data()};
    done(core, assay_forward(core, pass, &packed, 1, logp.data(), entropy.data(), nullptr, nullptr, nullptr, nullptr, 0));
    auto coefficients = read<float>(ids.size());
    done(core, assay_backward(core, pass, coefficients.data(), nullptr, nullptr));

    write(ids.data(), ids.size()), write(old.data(), old.size()), write(logp.data(), logp.size());
    for (auto& g : gradients) write(g.data(), g.size());
    assay_pass_free(pass);
    assay_free(core);
    return std::fclose(out);
}
